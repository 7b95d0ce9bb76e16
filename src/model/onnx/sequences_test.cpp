// Sequences: which chains of sequence operators become tensor operators, and what is said of the others.
#include "model/onnx/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/onnx/test_read.h"

namespace hone::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing;

graph::Graph read(const TestGraph& graph, const std::vector<Proto>& functions = {}) {
  return read_valid(model(graph, 21, functions));
}

// The name of the value that output 0 carries on: graph inputs come out through an Identity.
std::string source(const graph::Graph& graph) {
  const graph::Value& output = graph.value(graph.outputs()[0]);
  return graph.value(graph.node(output.producer).inputs[0]).name;
}

// Inputs a, b, c: f32[2,3]; positions p0, p1, p2, last, before; output y of any shape.
TestGraph with(std::vector<Proto> nodes) {
  TestGraph graph;
  graph.nodes = std::move(nodes);
  for (const char* name : {"a", "b", "c"}) graph.inputs.push_back(value_info(name, {2, 3}));
  graph.outputs = {Proto().bytes(1, "y")};
  graph.initializers = {int_tensor("p0", {}, {0}), int_tensor("p1", {}, {1}), int_tensor("p2", {}, {2}),
                        int_tensor("last", {}, {-1}), int_tensor("before", {}, {-3})};
  return graph;
}

Proto construct() { return node("SequenceConstruct", {"a", "b", "c"}, {"s"}, {}, "list"); }

std::string element_at(const std::string& position) {
  return source(read(with({construct(), node("SequenceAt", {"s", position}, {"y"})})));
}

TEST(Sequences, GiveTheElementAtAPosition) {
  EXPECT_EQ(element_at("p0"), "a");
  EXPECT_EQ(element_at("p2"), "c");
  EXPECT_EQ(element_at("last"), "c");
  EXPECT_EQ(element_at("before"), "a");
}

TEST(Sequences, TakeInsertionsAndErasures) {
  const auto order = [](std::vector<Proto> change) {
    std::string names;
    for (const char* position : {"p0", "p1", "p2"}) {
      std::vector<Proto> nodes{node("SequenceConstruct", {"a", "b"}, {"s"})};
      nodes.insert(nodes.end(), change.begin(), change.end());
      nodes.push_back(node("SequenceAt", {"t", position}, {"y"}));
      names += source(read(with(nodes)));
    }
    return names;
  };
  EXPECT_EQ(order({node("SequenceInsert", {"s", "c"}, {"t"})}), "abc");
  EXPECT_EQ(order({node("SequenceInsert", {"s", "c", "p2"}, {"t"})}), "abc");
  EXPECT_EQ(order({node("SequenceInsert", {"s", "c", "p0"}, {"t"})}), "cab");
  EXPECT_EQ(order({node("SequenceInsert", {"s", "c", "last"}, {"t"})}), "acb");
  EXPECT_EQ(order({node("SequenceInsert", {"s", "c"}, {"u"}), node("SequenceErase", {"u", "p1"}, {"v"}),
                   node("SequenceInsert", {"v", "a"}, {"t"})}),
            "aca");
  EXPECT_EQ(order({node("SequenceErase", {"s"}, {"u"}), node("SequenceInsert", {"u", "c"}, {"v"}),
                   node("SequenceInsert", {"v", "b"}, {"t"})}),
            "acb");
}

TEST(Sequences, HaveALengthThatIsAConstant) {
  const graph::Graph graph =
      read(with({node("SequenceEmpty", {}, {"e"}), node("SequenceInsert", {"e", "a"}, {"s"}),
                 node("Identity", {"s"}, {"t"}), node("SequenceLength", {"t"}, {"y"})}));
  EXPECT_THAT(graph.nodes(), IsEmpty());
  EXPECT_THAT(graph.value(graph.outputs()[0]).constant->to_ints(), ElementsAre(1));
}

TEST(Sequences, JoinByConcat) {
  graph::Graph graph = read(with(
      {construct(), node("ConcatFromSequence", {"s"}, {"y"}, {attribute("axis", int64_t{-1})}, "join")}));
  EXPECT_THAT(ops(graph), ElementsAre("Concat"));
  EXPECT_EQ(graph.type(graph.outputs()[0]).text(), "f32[2,9]");
  EXPECT_THAT(graph.nodes()[0].provenance, ElementsAre("join"));
  graph = read(
      with({construct(), node("ConcatFromSequence", {"s"}, {"y"},
                              {attribute("axis", int64_t{-1}), attribute("new_axis", int64_t{1})}, "join")}));
  EXPECT_EQ(graph.type(graph.outputs()[0]).text(), "f32[2,3,3]");
  for (const graph::Node& made : graph.nodes()) EXPECT_THAT(made.provenance, ElementsAre("join"));
}

TEST(Sequences, SplitAlongAnAxis) {
  const auto type = [](std::vector<std::string> inputs, std::vector<Proto> attributes) {
    TestGraph graph = with({node("SplitToSequence", inputs, {"s"}, attributes, "cut"),
                            node("SequenceAt", {"s", "last"}, {"y"})});
    graph.initializers.push_back(int_tensor("list", {2}, {1, 2}));
    const graph::Graph read_back = read(graph);
    EXPECT_THAT(read_back.nodes()[0].provenance, ElementsAre("cut"));
    return read_back.type(read_back.outputs()[0]).text();
  };
  const Proto axis = attribute("axis", int64_t{1});
  const Proto flat = attribute("keepdims", int64_t{0});
  EXPECT_EQ(type({"a"}, {}), "f32[1,3]");
  EXPECT_EQ(type({"a"}, {axis, flat}), "f32[2]");
  EXPECT_EQ(type({"a", "p1"}, {axis, flat}), "f32[2]");  // as PyTorch's unbind() is exported
  EXPECT_EQ(type({"a", "p2"}, {axis, flat}), "f32[2,1]");
  EXPECT_EQ(type({"a", "list"}, {axis, flat}), "f32[2,2]");
}

TEST(Sequences, OfUnboundTensorsGoBeforeDeclaredTypes) {
  TestGraph graph = with({node("SplitToSequence", {"a", "p1"}, {"s"}, {attribute("keepdims", int64_t{0})}),
                          node("SequenceAt", {"s", "p1"}, {"y"})});
  graph.outputs = {value_info("y", {1, 3})};  // what ONNX's own inference says
  const graph::Graph read_back = read(graph);
  EXPECT_EQ(read_back.type(read_back.outputs()[0]).text(), "f32[3]");
  graph.nodes[0] = node("SplitToSequence", {"a", "p1"}, {"s"});
  graph.outputs = {value_info("y", {3})};
  EXPECT_THAT(error_of(graph), HasSubstr("output 'y'"));
}

TEST(Sequences, SplitByComputedSizesHasAKnownNumberOfParts) {
  TestGraph graph = with({node("SplitToSequence", {"a", "sizes"}, {"s"}, {attribute("axis", int64_t{1})}),
                          node("SequenceLength", {"s"}, {"n"}), node("SequenceAt", {"s", "p1"}, {"y"})});
  graph.inputs.push_back(value_info("sizes", {3}, kInt64));
  graph.outputs.push_back(Proto().bytes(1, "n"));
  const graph::Graph read_back = read(graph);
  EXPECT_THAT(ops(read_back), ElementsAre("Split"));
  EXPECT_EQ(read_back.type(read_back.outputs()[0]).text(), "f32[2,?]");
  EXPECT_THAT(read_back.value(read_back.outputs()[1]).constant->to_ints(), ElementsAre(3));
}

TEST(Sequences, PassThroughFunctions) {
  Proto function;
  function.bytes(1, "tail").bytes(10, "local").bytes(4, "list").bytes(5, "rest");
  function.message(7, node("Constant", {}, {"zero"}, {attribute("value_int", int64_t{0})}))
      .message(7, node("SequenceErase", {"list", "zero"}, {"rest"}))
      .message(9, opset_import("", 21));
  const graph::Graph graph = read(with({construct(), node("tail", {"s"}, {"t"}, {}, "", "local"),
                                        node("SequenceAt", {"t", "p0"}, {"y"})}),
                                  {function});
  EXPECT_EQ(source(graph), "b");
}

TEST(Sequences, AreReadFromSubGraphs) {
  TestGraph then_branch;
  then_branch.nodes = {node("SequenceAt", {"s", "p1"}, {"e"}), node("Add", {"e", "b"}, {"o"})};
  then_branch.outputs = {Proto().bytes(1, "o")};
  TestGraph else_branch;
  else_branch.nodes = {node("ConcatFromSequence", {"s"}, {"o"}, {attribute("axis", int64_t{0})})};
  else_branch.outputs = {Proto().bytes(1, "o")};
  TestGraph graph = with({construct(), node("If", {"flag"}, {"y"},
                                            {graph_attribute("then_branch", then_branch.to_proto()),
                                             graph_attribute("else_branch", else_branch.to_proto())})});
  graph.inputs.push_back(value_info("flag", {}, 9));
  const graph::Graph read_back = read(graph);
  EXPECT_THAT(ops(read_back), ElementsAre("If"));
  EXPECT_EQ(read_back.nodes()[0].captures, 3u);  // a, b and c, each once
}

TEST(Sequences, ThatAreNotKnownAreUnsupported) {
  const auto says = [](const TestGraph& graph, const std::string& text) {
    const auto result = read_onnx_bytes(model(graph));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(result.error().message, HasSubstr(text));
  };
  TestGraph graph = with({construct(), node("SequenceAt", {"s", "where"}, {"y"}, {}, "take")});
  graph.inputs.push_back(value_info("where", {}, kInt64));
  says(graph, "node 'take' (SequenceAt): unsupported: SequenceAt at a position that is computed ('where')");
  says(with({node("SequenceConstruct", {"a", "b"}, {"y"})}), "output 'y': unsupported: 'y' is a sequence");
  says(with({construct(), node("Relu", {"s"}, {"y"}, {}, "act")}),
       "node 'act' (Relu): unsupported: 's' is a sequence");
  says(with({construct(), node("SequenceConstruct", {"a", "s"}, {"t"}), node("Relu", {"a"}, {"y"})}),
       "input 1 is a sequence; sequences hold tensors only");
  graph = with({node("SplitToSequence", {"x"}, {"s"}), node("SequenceAt", {"s", "p0"}, {"y"})});
  graph.inputs.push_back(value_info("x", {"n", 4}));
  says(graph, "along axis 0 of f32[n,4], whose extent is not known; read the model with a number for it");
  graph = with({node("SplitToSequence", {"a", "sizes"}, {"s"}), node("SequenceAt", {"s", "p0"}, {"y"})});
  graph.inputs.push_back(value_info("sizes", {"n"}, kInt64));
  says(graph, "a number of parts that is not known");
  TestGraph branch;
  branch.nodes = {node("SequenceConstruct", {"a"}, {"o"})};
  branch.outputs = {Proto().bytes(1, "o")};
  graph = with({node("If", {"flag"}, {"y"},
                     {graph_attribute("then_branch", branch.to_proto()),
                      graph_attribute("else_branch", branch.to_proto())})});
  graph.inputs.push_back(value_info("flag", {}, 9));
  says(graph, "'o' is a sequence");
}

TEST(Sequences, MisusedAreRefused) {
  const Proto empty = node("SequenceEmpty", {}, {"e"});
  EXPECT_THAT(error_of(with({construct(), node("SequenceErase", {"s"}, {"t"}),
                             node("SequenceAt", {"t", "p2"}, {"y"}, {}, "take")})),
              HasSubstr("node 'take' (SequenceAt): position 2 is outside of a sequence of 2"));
  TestGraph graph = with({construct(), node("SequenceAt", {"s", "huge"}, {"y"})});
  graph.initializers.push_back(int_tensor("huge", {}, {INT64_MIN}));
  EXPECT_THAT(error_of(graph), HasSubstr("is outside of a sequence of 3"));
  EXPECT_THAT(error_of(with({empty, node("SequenceAt", {"e", "p0"}, {"y"})})), HasSubstr("empty sequence"));
  EXPECT_THAT(error_of(with({empty, node("SequenceErase", {"e"}, {"t"}), node("Relu", {"a"}, {"y"})})),
              HasSubstr("erases from an empty sequence"));
  EXPECT_THAT(
      error_of(with({empty, node("ConcatFromSequence", {"e"}, {"y"}, {attribute("axis", int64_t{0})})})),
      HasSubstr("joins an empty sequence"));
  EXPECT_THAT(error_of(with({empty, node("SequenceInsert", {"e", "p0"}, {"y"})})),
              HasSubstr("'p0' is i64, but the sequence holds f32"));
  EXPECT_THAT(error_of(with({node("SequenceAt", {"a", "p0"}, {"y"})})), HasSubstr("input 0 is no sequence"));
  EXPECT_THAT(error_of(with({construct(), node("SequenceAt", {"s"}, {"y"})})), HasSubstr("has 1 inputs"));
  EXPECT_THAT(error_of(with({construct(), node("SequenceAt", {"s", "p0"}, {})})), HasSubstr("outputs"));
  EXPECT_THAT(error_of(with({construct(), node("Identity", {"s"}, {}), node("Relu", {"a"}, {"y"})})),
              HasSubstr("is a sequence"));
  EXPECT_THAT(error_of(with({node("SequenceEmpty", {}, {"y"}, {attribute("dtype", int64_t{99})})})),
              HasSubstr("element type 99"));
  EXPECT_THAT(error_of(with({node("SplitToSequence", {"a", "p0"}, {"y"})})),
              HasSubstr("must be a positive integer"));
}

TEST(Sequences, OfTooManyElementsAreRefusedAtOnce) {
  TestGraph graph = with({node("SplitToSequence", {"x"}, {"s"}), node("SequenceLength", {"s"}, {"y"})});
  graph.inputs.push_back(value_info("x", {int64_t{1'000'000'000}}));
  EXPECT_THAT(error_of(graph), HasSubstr("more than 250000 elements"));
  // Every insertion is a list of its own: the elements add up.
  std::vector<Proto> nodes{node("SequenceConstruct", {"a"}, {"s0"})};
  for (int i = 0; i < 1000; ++i)
    nodes.push_back(node("SequenceInsert", {"s" + std::to_string(i), "a"}, {"s" + std::to_string(i + 1)}));
  nodes.push_back(node("SequenceLength", {"s1000"}, {"y"}));
  EXPECT_THAT(error_of(with(nodes)), HasSubstr("more than 250000 elements"));
}

}  // namespace
}  // namespace hone::model
