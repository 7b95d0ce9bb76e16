#include "model/onnx/reader.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/onnx/test_read.h"

namespace hone::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;

std::string type_text(const graph::Graph& graph, std::string_view value) {
  return graph.type(graph.find_value(value)).text();
}

// x → Relu → y
TestGraph relu(std::vector<TestDim> dims = {2, 3}) {
  TestGraph graph;
  graph.nodes = {node("Relu", {"x"}, {"y"}, {}, "act")};
  graph.inputs = {value_info("x", dims)};
  graph.outputs = {value_info("y", dims)};
  return graph;
}

TEST(Reader, ReadsNamesTypesAndProvenance) {
  const graph::Graph graph = read_valid(model(relu()));
  EXPECT_EQ(graph.name(), "test");
  ASSERT_THAT(ops(graph), ElementsAre("Relu"));
  EXPECT_EQ(graph.nodes()[0].name, "act");
  EXPECT_THAT(graph.nodes()[0].provenance, ElementsAre("act"));
  EXPECT_EQ(type_text(graph, "x"), "f32[2,3]");
  EXPECT_EQ(type_text(graph, "y"), "f32[2,3]");
}

TEST(Reader, CallsNodesWithoutNameByOperatorAndOutput) {
  TestGraph graph = relu();
  graph.nodes = {node("Relu", {"x"}, {"y"})};
  EXPECT_EQ(read_valid(model(graph)).nodes()[0].name, "Relu_y");
}

TEST(Reader, PutsNodesInOrder) {
  TestGraph graph = relu();
  graph.nodes = {node("Relu", {"b"}, {"y"}), node("Abs", {"a"}, {"b"}), node("Neg", {"x"}, {"a"})};
  EXPECT_THAT(ops(read_valid(model(graph))), ElementsAre("Neg", "Abs", "Relu"));
}

TEST(Reader, TakesInitializersAsConstantsEvenWhereTheyAreInputsToo) {
  TestGraph graph = relu();
  graph.nodes = {node("Add", {"x", "w"}, {"y"})};
  graph.inputs.push_back(value_info("w", {3}));
  graph.initializers = {float_tensor("w", {3}, {1, 2, 3})};
  const graph::Graph read_back = read_valid(model(graph));
  EXPECT_EQ(read_back.inputs().size(), 1u);
  EXPECT_THAT(read_back.value(read_back.find_value("w")).constant->to_doubles(), ElementsAre(1, 2, 3));
}

TEST(Reader, TurnsConstantNodesIntoConstants) {
  TestGraph graph = relu();
  graph.nodes = {node("Constant", {}, {"c"}, {attribute("value_floats", std::vector<float>{4, 5, 6})}),
                 node("Add", {"x", "c"}, {"y"})};
  const graph::Graph read_back = read_valid(model(graph));
  EXPECT_THAT(ops(read_back), ElementsAre("Add"));
  EXPECT_THAT(read_back.value(read_back.find_value("c")).constant->to_doubles(), ElementsAre(4, 5, 6));
}

TEST(Reader, BindsSymbolsBeforeInference) {
  const std::string bytes = model(relu({"batch", "width"}));
  EXPECT_EQ(type_text(read_valid(bytes), "y"), "f32[batch,width]");
  EXPECT_EQ(type_text(read_valid(bytes, {.symbols = {{"batch", 8}}}), "y"), "f32[8,width]");
  EXPECT_EQ(type_text(read_valid(bytes, {.symbols = {{"batch", 8}}, .default_symbol = 1}), "y"), "f32[8,1]");
  EXPECT_EQ(type_text(read_valid(bytes, {.input_shapes = {{"x", {4, 5}}}}), "y"), "f32[4,5]");
  EXPECT_EQ(type_text(read_valid(model(relu({"", 3})), {.default_symbol = 2}), "y"), "f32[2,3]");
}

TEST(Reader, RefusesBindingsThatFitNoInput) {
  const std::string bytes = model(relu({"batch", 3}));
  const auto error = [&](const ReadOptions& options) {
    return read_onnx_bytes(bytes, options).error().message;
  };
  EXPECT_THAT(error({.symbols = {{"bach", 8}}}),
              HasSubstr("no input has a symbolic extent 'bach'; there is: batch"));
  EXPECT_THAT(error({.input_shapes = {{"y", {1, 3}}}}),
              HasSubstr("no input is named 'y'; the inputs are: x"));
  EXPECT_THAT(error({.input_shapes = {{"x", {1, 4}}}}), HasSubstr("input 'x': shape [1,4] does not fit"));
  EXPECT_THAT(error({.input_shapes = {{"x", {1}}}}), HasSubstr("the rank differs"));
}

TEST(Reader, UsesDeclaredTypesWhereTheyAddAndInferenceWhereTheyAreWrong) {
  TestGraph graph = relu({2, 3});
  graph.nodes = {node("Abs", {"x"}, {"a"}), node("Relu", {"a"}, {"y"})};
  graph.value_infos = {value_info("a", {7, 7})};
  EXPECT_EQ(type_text(read_valid(model(graph)), "a"), "f32[2,3]");
  graph.outputs = {value_info("y", {2, 4})};
  EXPECT_THAT(read_onnx_bytes(model(graph)).error().message, HasSubstr("output 'y'"));
}

TEST(Reader, DropsOutputsThatNothingReads) {
  TestGraph graph;
  graph.inputs = {value_info("x", {1, 1, 4, 4})};
  graph.outputs = {value_info("y", {1, 1, 2, 2})};
  graph.nodes = {node("MaxPool", {"x"}, {"y", "indices"},
                      {attribute("kernel_shape", std::vector<int64_t>{2, 2}),
                       attribute("strides", std::vector<int64_t>{2, 2})})};
  EXPECT_EQ(read_valid(model(graph)).nodes()[0].outputs.size(), 1u);
}

// f(a, b) {alpha, beta = 1} = Elu(a) {alpha} + b
Proto local_function() {
  Proto proto;
  proto.bytes(1, "f").bytes(10, "local").bytes(4, "a").bytes(4, "b").bytes(5, "c").bytes(6, "slope");
  proto.message(
      7, node("Elu", {"a"}, {"t"}, {Proto().bytes(1, "alpha").bytes(21, "slope").integer(20, 1)}, "elu"));
  proto.message(7, node("Add", {"t", "b"}, {"c"}, {}, "sum"));
  proto.message(9, opset_import("", 21));
  return proto;
}

TEST(Reader, InlinesLocalFunctionsWithTheirAttributes) {
  TestGraph graph = relu();
  graph.nodes = {node("f", {"x", "x"}, {"y"}, {attribute("slope", 0.5f)}, "call", "local")};
  const graph::Graph inlined = read_valid(model(graph, 21, {local_function()}));
  ASSERT_THAT(ops(inlined), ElementsAre("Elu", "Add"));
  EXPECT_FLOAT_EQ(inlined.nodes()[0].attributes.real("alpha", 0), 0.5f);
  EXPECT_THAT(inlined.nodes()[0].provenance, ElementsAre("call/elu"));
  EXPECT_EQ(inlined.value(inlined.outputs()[0]).name, "y");
}

TEST(Reader, RefusesFunctionsThatCallThemselves) {
  Proto proto;
  proto.bytes(1, "f").bytes(10, "local").bytes(4, "a").bytes(5, "c");
  proto.message(7, node("f", {"a"}, {"t"}, {}, "", "local"))
      .message(7, node("f", {"t"}, {"c"}, {}, "", "local"));
  proto.message(9, opset_import("", 21)).message(9, opset_import("local", 1));
  TestGraph graph = relu();
  graph.nodes = {node("f", {"x"}, {"y"}, {}, "call", "local")};
  EXPECT_THAT(read_onnx_bytes(model(graph, 21, {proto})).error().message, HasSubstr("calls itself"));
}

TestGraph branch(const std::string& op, const std::string& input, const std::string& output) {
  TestGraph graph;
  graph.nodes = {node(op, {input}, {output})};
  graph.outputs = {value_info(output, {2, 3})};
  graph.name = output;
  return graph;
}

TEST(Reader, ClosesBranchesOverWhatTheyCapture) {
  TestGraph graph = relu();
  graph.inputs.push_back(value_info("flag", {}, 9));
  graph.initializers = {float_tensor("w", {3}, {1, 2, 3})};
  TestGraph other = branch("Neg", "b", "no");
  other.nodes = {node("Add", {"a", "w"}, {"no"})};
  graph.nodes = {node("Abs", {"x"}, {"a"}), node("Neg", {"x"}, {"b"}),
                 node("If", {"flag"}, {"y"},
                      {graph_attribute("then_branch", branch("Relu", "b", "yes").to_proto()),
                       graph_attribute("else_branch", other.to_proto())})};
  const graph::Graph read_back = read_valid(model(graph));
  const graph::Node& node = read_back.nodes().back();
  EXPECT_EQ(node.op, "If");
  EXPECT_EQ(node.captures, 2u);  // b and a; the constant w is copied into the branch that reads it
  ASSERT_EQ(node.inputs.size(), 3u);
  EXPECT_EQ(read_back.value(node.inputs[1]).name, "b");
  ASSERT_EQ(node.bodies.size(), 2u);
  EXPECT_EQ(node.bodies[0]->inputs().size(), 2u);
  EXPECT_EQ(node.bodies[1]->inputs().size(), 2u);
  EXPECT_EQ(type_text(read_back, "y"), "f32[2,3]");
}

// A loop whose carried value grows by one row in every iteration.
TEST(Reader, WidensTheTypesOfLoopStatesThatChange) {
  TestGraph body;
  body.name = "body";
  body.inputs = {value_info("i", {}, kInt64), value_info("c", {}, 9), value_info("s", {2, 3})};
  body.outputs = {value_info("c", {}, 9), value_info("s2", {"n", 3})};
  body.nodes = {node("Concat", {"s", "row"}, {"s2"}, {attribute("axis", int64_t{0})})};
  TestGraph graph = relu();
  graph.outputs = {value_info("y", {"m", 3})};
  graph.initializers = {float_tensor("row", {1, 3}, {1, 2, 3}), int_tensor("trips", {}, {4})};
  graph.nodes = {node("Loop", {"trips", "", "x"}, {"y"}, {graph_attribute("body", body.to_proto())})};
  const graph::Graph read_back = read_valid(model(graph));
  const graph::Graph& read_body = *read_back.nodes()[0].bodies[0];
  EXPECT_EQ(type_text(read_body, "s"), "f32[?,3]");
  EXPECT_EQ(type_text(read_back, "y"), "f32[m,3]");
}

TEST(Reader, NamesUnsupportedOperatorsAndTypes) {
  TestGraph graph = relu();
  graph.nodes = {node("Conjure", {"x"}, {"y"}, {}, "magic")};
  const auto result = read_onnx_bytes(model(graph));
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(result.error().message, "node 'magic' (Conjure): unsupported: Conjure (opset 21)");
  graph = relu();
  graph.inputs = {Proto().bytes(1, "x").message(2, Proto().message(4, Proto()))};
  EXPECT_EQ(read_onnx_bytes(model(graph)).error().message, "input 'x': unsupported: values of sequence type");
}

}  // namespace
}  // namespace hone::model
