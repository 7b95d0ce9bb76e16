// The Gradient operator of ONNX's training domain: expanded while the model is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/onnx/reader.h"
#include "model/onnx/test_read.h"

namespace hone::model {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace testing;

Proto strings_attribute(const std::string& name, const std::vector<std::string>& values) {
  Proto proto = Proto().bytes(1, name);
  for (const std::string& value : values) proto.bytes(9, value);
  return proto.integer(20, 8);
}

Proto gradient(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
               const std::vector<std::string>& xs, const std::string& y,
               const std::vector<std::string>& zs = {}) {
  std::vector<Proto> attributes{strings_attribute("xs", xs), attribute("y", y)};
  if (!zs.empty()) attributes.push_back(strings_attribute("zs", zs));
  return node("Gradient", inputs, outputs, attributes, "grad", "ai.onnx.preview.training");
}

std::string with_training_domain(const TestGraph& graph) {
  Proto proto;
  proto.integer(1, 10).message(7, graph.to_proto()).message(8, opset_import("", 21));
  return proto.message(8, opset_import("ai.onnx.preview.training", 1)).text();
}

// y = a · b + a of f32[2], and what `more` adds; its last output is g.
TestGraph products(std::vector<Proto> more) {
  TestGraph graph;
  graph.nodes = std::move(more);  // nodes may stand in any order
  graph.nodes.push_back(node("Mul", {"a", "b"}, {"m"}, {}, "mul"));
  graph.nodes.push_back(node("Add", {"m", "a"}, {"y"}, {}, "add"));
  for (const char* name : {"a", "b", "c"}) graph.inputs.push_back(value_info(name, {2}));
  graph.outputs = {Proto().bytes(1, "g")};
  return graph;
}

graph::Graph read_training(const TestGraph& graph) { return read_valid(with_training_domain(graph)); }

std::string training_error(const TestGraph& graph) { return error_of(with_training_domain(graph)); }

TEST(GradientNode, BecomesOrdinaryNodes) {
  const graph::Graph graph = read_training(products({gradient({"a", "b"}, {"", "g"}, {"a", "b"}, "y")}));
  EXPECT_EQ(graph.type(graph.outputs()[0]).text(), "f32[2]");
  EXPECT_THAT(ops(graph), Not(Contains("ai.onnx.preview.training.Gradient")));
  EXPECT_THAT(graph.nodes().back().provenance, ElementsAre("grad", "mul"));
  EXPECT_EQ(graph.nodes().back().op, "Mul");  // dy/db = g · a
}

TEST(GradientNode, AtOtherValuesComputesTheModelThere) {
  // dy/db = a, where a is c: the graph does not read a.
  const graph::Graph graph = read_training(products({gradient({"b", "c"}, {"g"}, {"b"}, "y", {"a"})}));
  EXPECT_TRUE(graph.users(graph.inputs()[0]).empty());
  EXPECT_FALSE(graph.users(graph.inputs()[2]).empty());
}

TEST(GradientNode, OfAGradient) {
  const graph::Graph graph = read_training(products({gradient({"a", "b"}, {"g"}, {"a"}, "first", {"b"}),
                                                     gradient({"a", "b"}, {"first"}, {"b"}, "y", {"a"})}));
  EXPECT_EQ(graph.type(graph.outputs()[0]).text(), "f32[2]");
}

TEST(GradientNode, ThatCannotBeExpandedSaysWhy) {
  EXPECT_THAT(training_error(products({gradient({"a"}, {"g"}, {"a", "b"}, "y")})),
              HasSubstr("node 'grad' (Gradient): has 1 inputs for the 2 values"));
  EXPECT_THAT(training_error(products({gradient({"a"}, {"g", "h"}, {"a"}, "y")})),
              HasSubstr("has 2 outputs"));
  EXPECT_THAT(training_error(products({gradient({"a"}, {"g"}, {"a"}, "nowhere")})), HasSubstr("'nowhere'"));
  EXPECT_THAT(training_error(products({gradient({"a"}, {"g"}, {"nowhere"}, "y")})), HasSubstr("'nowhere'"));
  EXPECT_THAT(training_error(products({gradient({}, {"g"}, {}, "y")})), HasSubstr("must name values"));
  EXPECT_THAT(training_error(products({gradient({"a"}, {"g"}, {"a"}, "g")})), HasSubstr("cycle"));
  EXPECT_THAT(training_error(
                  products({node("Unique", {"y"}, {"t"}, {}, "once"), gradient({"a"}, {"g"}, {"a"}, "t")})),
              HasSubstr("node 'once' (Unique): unsupported: the gradient of Unique"));
  TestGraph branch;
  branch.nodes = {gradient({"a", "b"}, {"o"}, {"a", "b"}, "y")};
  branch.outputs = {Proto().bytes(1, "o")};
  TestGraph graph = products({node("If", {"flag"}, {"g"},
                                   {graph_attribute("then_branch", branch.to_proto()),
                                    graph_attribute("else_branch", branch.to_proto())})});
  graph.inputs.push_back(value_info("flag", {}, 9));
  EXPECT_THAT(training_error(graph), HasSubstr("unsupported: Gradient in a sub-graph"));
}

// Every derivative of a product has more terms than the one before.
TEST(GradientNode, ThatMultipliesIsRefused) {
  std::vector<Proto> nodes;
  std::string y = "y";
  for (int i = 0; i < 40; ++i) {
    const std::string next = i == 39 ? "g" : "d" + std::to_string(i);
    nodes.push_back(node("Softmax", {y}, {"s" + std::to_string(i)}));
    nodes.push_back(gradient({"a"}, {next}, {"a"}, "s" + std::to_string(i)));
    y = next;
  }
  EXPECT_THAT(training_error(products(nodes)), HasSubstr("more than"));
}

}  // namespace
}  // namespace hone::model
