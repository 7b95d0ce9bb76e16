// Each older form of an operator as the reader turns it into the canonical one.
#include "model/onnx/upgrade/upgrade.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/onnx/reader.h"
#include "model/onnx/test_read.h"

namespace hone::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;

// One node under test: its inputs are "x", then what `initializers` and more inputs name; its output is "y".
struct OldNode {
  std::string op;
  int64_t opset;
  std::vector<Proto> attributes = {};
  std::vector<TestDim> x = {2, 3, 4, 5};
  std::vector<Proto> initializers = {};
  std::vector<std::string> others = {};
  std::vector<std::string> outputs = {"y"};
};

Proto untyped(const std::string& name) { return Proto().bytes(1, name); }

std::string old_model(const OldNode& old) {
  TestGraph graph;
  std::vector<std::string> inputs = {"x"};
  inputs.insert(inputs.end(), old.others.begin(), old.others.end());
  graph.nodes = {node(old.op, inputs, old.outputs, old.attributes, "n")};
  graph.inputs = {value_info("x", old.x)};
  for (const std::string& output : old.outputs)
    if (!output.empty()) graph.outputs.push_back(untyped(output));
  graph.initializers = old.initializers;
  return model(graph, old.opset, {}, 3);
}

graph::Graph upgrade(const OldNode& old) { return read_valid(old_model(old)); }

std::vector<int64_t> constant(const graph::Graph& graph, std::size_t node, std::size_t input) {
  const graph::Node& n = graph.nodes().at(node);
  return n.has_input(input) ? graph.value(n.inputs[input]).constant->to_ints() : std::vector<int64_t>{};
}

std::string output_type(const graph::Graph& graph) { return graph.type(graph.outputs()[0]).text(); }

Proto ints(const std::string& name, const std::vector<int64_t>& values) { return attribute(name, values); }

TEST(Upgrade, AxesBecomeAnInput) {
  for (const auto& [op, opset] : std::vector<std::pair<std::string, int64_t>>{
           {"ReduceSum", 12}, {"ReduceMean", 17}, {"ReduceMax", 17}, {"ReduceL2", 17}}) {
    const graph::Graph graph =
        upgrade({op, opset, {ints("axes", {1, 2}), attribute("keepdims", int64_t{0})}});
    EXPECT_THAT(constant(graph, 0, 1), ElementsAre(1, 2)) << op;
    EXPECT_EQ(output_type(graph), "f32[2,5]") << op;
  }
  EXPECT_EQ(output_type(upgrade({"Squeeze", 12, {ints("axes", {0})}, {1, 3}})), "f32[3]");
  EXPECT_EQ(output_type(upgrade({"Squeeze", 12, {}, {1, 3}})), "f32[3]");
  EXPECT_EQ(output_type(upgrade({"Unsqueeze", 12, {ints("axes", {0, 3})}, {4, 3}})), "f32[1,4,3,1]");
}

TEST(Upgrade, ClipPadSliceSplitTopKTakeTheirNumbersAsInputs) {
  const graph::Graph clip = upgrade({"Clip", 6, {attribute("min", 0.f), attribute("max", 6.f)}});
  EXPECT_EQ(clip.value(clip.nodes()[0].inputs[2]).constant->at(0), 6);
  EXPECT_EQ(upgrade({"Clip", 6, {attribute("max", 6.f)}}).nodes()[0].inputs.size(), 3u);
  EXPECT_EQ(output_type(upgrade({"Pad", 10, {ints("pads", {0, 1, 0, 2})}, {2, 3}})), "f32[2,6]");
  EXPECT_EQ(
      output_type(upgrade({"Pad", 1, {ints("paddings", {0, 1, 0, 2}), attribute("value", 1.f)}, {2, 3}})),
      "f32[2,6]");
  EXPECT_EQ(output_type(upgrade({"Slice", 9, {ints("starts", {1}), ints("ends", {3}), ints("axes", {1})}})),
            "f32[2,2,4,5]");
  EXPECT_EQ(output_type(upgrade({"Slice", 9, {ints("starts", {1, 0}), ints("ends", {2, 2})}})),
            "f32[1,2,4,5]");
  const graph::Graph split = upgrade(
      {"Split", 12, {ints("split", {1, 2}), attribute("axis", int64_t{1})}, {2, 3}, {}, {}, {"y", "z"}});
  EXPECT_EQ(output_type(split), "f32[2,1]");
  const graph::Graph equal =
      upgrade({"Split", 13, {attribute("axis", int64_t{0})}, {2, 3}, {}, {}, {"y", "z"}});
  EXPECT_EQ(equal.nodes()[0].attributes.integer("num_outputs", 0), 2);
  const graph::Graph topk = upgrade({"TopK", 9, {attribute("k", int64_t{2})}, {2, 3}, {}, {}, {"y", "i"}});
  EXPECT_EQ(output_type(topk), "f32[2,2]");
}

TEST(Upgrade, AGatedProductBecomesItsParts) {
  const graph::Graph graph = upgrade({"SwiGLU",
                                      28,
                                      {attribute("alpha", 1.5f)},
                                      {2, 3},
                                      {float_tensor("b", {2, 3}, {1, 2, 3, 4, 5, 6})},
                                      {"b"}});
  EXPECT_THAT(ops(graph), ElementsAre("Swish", "Mul"));
  EXPECT_EQ(graph.nodes()[0].attributes.real("alpha", 0), 1.5F);
  EXPECT_EQ(output_type(graph), "f32[2,3]");
}

TEST(Upgrade, ReshapeAndTileOfTheFirstOpsets) {
  EXPECT_EQ(output_type(upgrade({"Reshape", 1, {ints("shape", {6, 20}), ints("consumed_inputs", {0})}})),
            "f32[6,20]");
  const graph::Graph tile = upgrade({"Tile",
                                     5,
                                     {},
                                     {2, 3},
                                     {int_tensor("tiles", {}, {4}), int_tensor("axis", {}, {1})},
                                     {"tiles", "axis"}});
  EXPECT_EQ(output_type(tile), "f32[2,12]");
}

TEST(Upgrade, DropoutTakesItsRatioAsInputAndItsMaskIsCastBack) {
  const graph::Graph plain =
      upgrade({"Dropout", 6, {attribute("ratio", 0.25f), attribute("is_test", int64_t{1})}});
  EXPECT_EQ(plain.value(plain.nodes()[0].inputs[1]).constant->at(0), 0.25);
  const graph::Graph masked = upgrade({"Dropout", 7, {}, {2, 3}, {}, {}, {"y", "mask"}});
  EXPECT_THAT(ops(masked), ElementsAre("Dropout", "Cast"));
  EXPECT_EQ(masked.type(masked.outputs()[1]).text(), "f32[2,3]");
  EXPECT_EQ(masked.value(masked.outputs()[1]).name, "mask");
  const graph::Graph boolean = upgrade({"Dropout", 10, {}, {2, 3}, {}, {}, {"y", "mask"}});
  EXPECT_EQ(boolean.type(boolean.outputs()[1]).text(), "bool[2,3]");
}

TEST(Upgrade, OldBroadcastingAlignsTheSecondOperandAtItsAxis) {
  const graph::Graph middle = upgrade({"Add",
                                       6,
                                       {attribute("broadcast", int64_t{1}), attribute("axis", int64_t{1})},
                                       {2, 3, 4, 5},
                                       {float_tensor("b", {3, 4}, std::vector<float>(12, 1))},
                                       {"b"}});
  EXPECT_THAT(ops(middle), ElementsAre("Unsqueeze", "Add"));
  EXPECT_THAT(constant(middle, 0, 1), ElementsAre(2));
  EXPECT_EQ(output_type(middle), "f32[2,3,4,5]");
  const graph::Graph suffix = upgrade({"Mul",
                                       6,
                                       {attribute("broadcast", int64_t{1})},
                                       {2, 3, 4, 5},
                                       {float_tensor("b", {5}, std::vector<float>(5, 1))},
                                       {"b"}});
  EXPECT_THAT(ops(suffix), ElementsAre("Mul"));
}

TEST(Upgrade, SlopesPerChannelGetTheirAxes) {
  const graph::Graph prelu =
      upgrade({"PRelu", 6, {}, {2, 3, 4, 5}, {float_tensor("slope", {3}, {1, 2, 3})}, {"slope"}});
  EXPECT_THAT(ops(prelu), ElementsAre("Unsqueeze", "PRelu"));
  EXPECT_THAT(constant(prelu, 0, 1), ElementsAre(1, 2));
}

TEST(Upgrade, SoftmaxOfOldSawAMatrix) {
  const graph::Graph middle = upgrade({"Softmax", 12, {attribute("axis", int64_t{2})}});
  EXPECT_THAT(ops(middle), ElementsAre("Shape", "Flatten", "Softmax", "Reshape"));
  EXPECT_EQ(middle.nodes()[1].attributes.integer("axis", 0), 2);
  EXPECT_EQ(middle.nodes()[2].attributes.integer("axis", 0), -1);
  EXPECT_THAT(ops(upgrade({"Softmax", 12, {}, {2, 3}})), ElementsAre("Softmax"));
  EXPECT_THAT(ops(upgrade({"LogSoftmax", 12, {attribute("axis", int64_t{-1})}})), ElementsAre("LogSoftmax"));
  const graph::Graph now = upgrade({"Softmax", 13, {attribute("axis", int64_t{2})}});
  EXPECT_THAT(ops(now), ElementsAre("Softmax"));
  EXPECT_EQ(now.nodes()[0].attributes.integer("axis", 0), 2);
}

TEST(Upgrade, NodesWithoutInputsAreErrorsInEveryOldForm) {
  const std::vector<std::string> operators = {"Softmax",
                                              "Hardmax",
                                              "Squeeze",
                                              "ReduceSum",
                                              "Clip",
                                              "Pad",
                                              "Reshape",
                                              "Split",
                                              "TopK",
                                              "Tile",
                                              "Dropout",
                                              "DFT",
                                              "PRelu",
                                              "Add",
                                              "Gemm",
                                              "BatchNormalization",
                                              "GroupNormalization",
                                              "Upsample",
                                              "Resize",
                                              "Concat",
                                              "GridSample",
                                              "GRU",
                                              "Scatter"};
  for (const std::string& op : operators) {
    for (int64_t opset = 1; opset <= 20; ++opset) {
      TestGraph graph;
      graph.nodes = {node(op, {}, {"y"}, {}, "n")};
      graph.outputs = {untyped("y")};
      EXPECT_FALSE(read_onnx_bytes(model(graph, opset)).ok()) << op << " " << opset;
    }
  }
}

TEST(Upgrade, BatchNormalizationDropsItsTrainingForms) {
  const std::vector<Proto> channel = {float_tensor("s", {3}, {1, 1, 1})};
  const std::vector<std::string> inputs = {"s", "s", "s", "s"};
  const graph::Graph old = upgrade({"BatchNormalization",
                                    6,
                                    {attribute("is_test", int64_t{1}), attribute("spatial", int64_t{1})},
                                    {2, 3, 4, 5},
                                    channel,
                                    inputs});
  EXPECT_EQ(old.nodes()[0].attributes.integer("training_mode", 0), 0);
  const graph::Graph training =
      upgrade({"BatchNormalization", 9, {}, {2, 3, 4, 5}, channel, inputs, {"y", "mean", "var"}});
  EXPECT_EQ(training.nodes()[0].attributes.integer("training_mode", 0), 1);
  const auto saved = read_onnx_bytes(
      old_model({"BatchNormalization", 9, {}, {2, 3, 4, 5}, channel, inputs, {"y", "a", "b", "c", "d"}}));
  EXPECT_THAT(saved.error().message, HasSubstr("saved statistics"));
}

TEST(Upgrade, GroupNormalizationSpreadsItsParametersOverChannels) {
  const graph::Graph group = upgrade({"GroupNormalization",
                                      18,
                                      {attribute("num_groups", int64_t{2})},
                                      {1, 4, 3, 3},
                                      {float_tensor("s", {2}, {1, 2}), float_tensor("b", {2}, {0, 0})},
                                      {"s", "b"}});
  EXPECT_THAT(ops(group), ElementsAre("Reshape", "Expand", "Reshape", "Reshape", "Expand", "Reshape",
                                      "GroupNormalization"));
  EXPECT_EQ(group.type(group.nodes().back().inputs[1]).text(), "f32[4]");
}

TEST(Upgrade, UpsampleBecomesResizeWithItsCoordinates) {
  const auto check = [](const graph::Graph& graph) {
    ASSERT_THAT(ops(graph), ElementsAre("Resize"));
    const graph::Node& node = graph.nodes()[0];
    EXPECT_FALSE(node.has_input(1));
    EXPECT_TRUE(node.has_input(2));
    EXPECT_EQ(node.attributes.text("coordinate_transformation_mode", ""), "asymmetric");
    EXPECT_EQ(node.attributes.text("nearest_mode", ""), "floor");
    EXPECT_EQ(output_type(graph), "f32[2,3,8,10]");
  };
  check(upgrade({"Upsample", 1, {attribute("height_scale", 2.f), attribute("width_scale", 2.f)}}));
  check(upgrade({"Upsample", 8, {attribute("scales", std::vector<float>{1, 1, 2, 2})}}));
  const std::vector<Proto> scales = {float_tensor("scales", {4}, {1, 1, 2, 2})};
  check(upgrade({"Upsample", 9, {}, {2, 3, 4, 5}, scales, {"scales"}}));
  check(upgrade({"Resize", 10, {}, {2, 3, 4, 5}, scales, {"scales"}}));
}

TEST(Upgrade, ResizeTakesEmptyTensorsAsAbsent) {
  const graph::Graph resize =
      upgrade({"Resize",
               13,
               {},
               {2, 3, 4, 5},
               {float_tensor("none", {0}, {}), int_tensor("sizes", {4}, {2, 3, 8, 10})},
               {"none", "none", "sizes"}});
  EXPECT_FALSE(resize.nodes()[0].has_input(1));
  EXPECT_FALSE(resize.nodes()[0].has_input(2));
  EXPECT_EQ(output_type(resize), "f32[2,3,8,10]");
}

TEST(Upgrade, RenamedAttributesAndOperators) {
  EXPECT_EQ(output_type(upgrade({"Cast", 5, {attribute("to", std::string("INT64"))}, {2}})), "i64[2]");
  EXPECT_THAT(
      read_onnx_bytes(old_model({"Cast", 5, {attribute("to", std::string("INT65"))}, {2}})).error().message,
      HasSubstr("names no type: 'INT65'"));
  const graph::Graph concat = upgrade({"Concat", 3, {}, {2, 3}, {float_tensor("c", {2, 1}, {1, 2})}, {"c"}});
  EXPECT_EQ(output_type(concat), "f32[2,4]");
  const graph::Graph scatter =
      upgrade({"Scatter", 10, {}, {3}, {int_tensor("i", {1}, {1}), float_tensor("u", {1}, {5})}, {"i", "u"}});
  EXPECT_THAT(ops(scatter), ElementsAre("ScatterElements"));
  EXPECT_FLOAT_EQ(upgrade({"Selu", 5, {}}).nodes()[0].attributes.real("alpha", 0), 1.6732f);
  EXPECT_EQ(upgrade({"GlobalLpPool", 1, {attribute("p", 3.f)}}).nodes()[0].attributes.integer("p", 0), 3);
  const graph::Graph sample = upgrade({"GridSample",
                                       16,
                                       {attribute("mode", std::string("bicubic"))},
                                       {1, 1, 4, 4},
                                       {float_tensor("g", {1, 1, 1, 2}, {0, 0})},
                                       {"g"}});
  EXPECT_EQ(sample.nodes()[0].attributes.text("mode", ""), "cubic");
}

TEST(Upgrade, RecurrentLayersLoseWhatTheirOutputsSay) {
  const graph::Graph gru =
      upgrade({"GRU",
               6,
               {attribute("hidden_size", int64_t{1}), attribute("output_sequence", int64_t{1})},
               {5, 1, 1},
               {float_tensor("w", {1, 3, 1}, {1, 1, 1})},
               {"w", "w"}});
  EXPECT_FALSE(gru.nodes()[0].attributes.has("output_sequence"));
}

TEST(Upgrade, DftTakesItsAxisAsInput) {
  const graph::Graph dft = upgrade({"DFT", 17, {attribute("axis", int64_t{1})}, {1, 8, 1}});
  EXPECT_THAT(constant(dft, 0, 2), ElementsAre(1));
}

}  // namespace
}  // namespace hone::model
