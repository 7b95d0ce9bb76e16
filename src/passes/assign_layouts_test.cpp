#include "passes/assign_layouts.h"

#include <set>

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

// A target whose convolutions work on blocks of 16 channels, and which has kernels for `operators` in them.
PassContext blocked_target(std::set<std::string> operators) {
  PassContext context = willing_target();
  context.target.takes.convolution_layout = Layout::kBlocked16;
  context.target.takes.laid_out = {DType::kF32};
  context.target.runs = [operators = std::move(operators)](const graph::Graph& graph,
                                                           const graph::Node& node) {
    for (const auto* ids : {&node.inputs, &node.outputs}) {
      for (const graph::ValueId id : *ids) {
        if (graph.type(id).layout != Layout::kPlain) return operators.contains(node.op);
      }
    }
    return true;
  };
  return context;
}

std::string layouts(const graph::Graph& graph) {
  std::string text;
  for (const graph::Node& node : graph.nodes())
    text += (text.empty() ? "" : " ") + node.op + "@" +
            std::string(layout_name(graph.type(node.outputs[0]).layout));
  return text;
}

graph::Graph two_convolutions(const char* between, int64_t channels = 16, int64_t width = 16) {
  graph::GraphBuilder b("convolutions");
  const auto x = b.input("x", graph::tensor_type(DType::kF32, Shape{1, channels, 4, 4}));
  const auto first = b.constant("w1", Tensor::zeros(DType::kF32, {width, channels, 1, 1}));
  const auto second = b.constant("w2", Tensor::zeros(DType::kF32, {width, width, 1, 1}));
  const auto a = b.add("Conv", {x, first});
  b.output(b.add("Conv", {b.add(between, {a}), second}));
  return *std::move(b).finish();
}

TEST(AssignLayouts, ReordersOnceAtEitherEnd) {
  const PassOutcome outcome =
      run_pass(assign_layouts, two_convolutions("Relu"), blocked_target({"Conv", "Relu"}));
  EXPECT_EQ(layouts(outcome.graph),
            "hone.Reorder@blocked16 Conv@blocked16 Relu@blocked16 Conv@blocked16 hone.Reorder@plain");
}

TEST(AssignLayouts, LaysOutWhatNarrowConvolutionsReadAsTheyWantIt) {
  PassContext context = blocked_target({"Conv", "Cast"});
  context.target.takes.converted_products = {DType::kBF16};
  context.target.takes.converted_layout = Layout::kChannelsLast;
  context.target.takes.laid_out.add(DType::kBF16);
  graph::GraphBuilder b("narrow");
  const auto x = b.input("x", graph::tensor_type(DType::kBF16, Shape{1, 16, 4, 4}));
  const auto w = b.constant("w", Tensor::zeros(DType::kBF16, {16, 16, 1, 1}));
  b.output(b.add("Cast", {b.add("Conv", {x, w})}, {{"to", int64_t{1}}}));
  EXPECT_EQ(layouts(run_pass(assign_layouts, *std::move(b).finish(), context).graph),
            "hone.Reorder@channels_last Conv@channels_last Cast@channels_last hone.Reorder@plain");
}

// A batch normalisation that could not be folded, say: its constants are read as they lie.
TEST(AssignLayouts, ConstantsOfAChannelLeaveAnImageInItsLayout) {
  for (const Shape& constant : {Shape{24, 1, 1}, Shape{1, 24, 1, 1}, Shape{1}}) {
    graph::GraphBuilder b("scaled");
    const auto x = b.input("x", graph::tensor_type(DType::kF32, Shape{1, 16, 4, 4}));
    const auto image = b.add("Conv", {x, b.constant("w1", Tensor::zeros(DType::kF32, {24, 16, 1, 1}))});
    const auto scaled = b.add("Mul", {b.constant("s", Tensor::zeros(DType::kF32, constant)), image});
    b.output(b.add("Conv", {scaled, b.constant("w2", Tensor::zeros(DType::kF32, {16, 24, 1, 1}))}));
    const PassOutcome outcome =
        run_pass(assign_layouts, *std::move(b).finish(), blocked_target({"Conv", "Mul"}));
    EXPECT_EQ(layouts(outcome.graph),
              "hone.Reorder@blocked16 Conv@blocked16 Mul@blocked16 Conv@blocked16 hone.Reorder@plain")
        << shape_text(constant);
  }
}

TEST(AssignLayouts, GoesBackToPlainAroundWhatTheTargetHasNoKernelFor) {
  const PassOutcome outcome = run_pass(assign_layouts, two_convolutions("Relu"), blocked_target({"Conv"}));
  EXPECT_EQ(layouts(outcome.graph),
            "hone.Reorder@blocked16 Conv@blocked16 hone.Reorder@plain Relu@plain hone.Reorder@blocked16 "
            "Conv@blocked16 hone.Reorder@plain");
}

TEST(AssignLayouts, AnImageOfFewChannelsIsReadAsItIs) {
  const PassOutcome outcome =
      run_pass(assign_layouts, two_convolutions("Relu", 3), blocked_target({"Conv", "Relu"}));
  EXPECT_EQ(layouts(outcome.graph), "Conv@blocked16 Relu@blocked16 Conv@blocked16 hone.Reorder@plain");
}

TEST(AssignLayouts, SaysWhichConvolutionStaysPlain) {
  const PassOutcome outcome = run_pass(assign_layouts, two_convolutions("Relu"), blocked_target({}));
  EXPECT_EQ(layouts(outcome.graph), "Conv@plain Relu@plain Conv@plain");
  ASSERT_EQ(outcome.missed.size(), 2U);
  EXPECT_NE(outcome.missed[0].text.find("no kernel for blocked16"), std::string::npos);
}

TEST(AssignLayouts, TypesThatTheTargetDoesNotLayOutStayPlain) {
  PassContext context = blocked_target({"Conv", "Relu"});
  context.target.takes.laid_out = {};
  EXPECT_TRUE(run_pass(assign_layouts, two_convolutions("Relu"), context).done.empty());
}

TEST(AssignLayouts, ATargetThatWasNotAskedLaysNothingOut) {
  EXPECT_TRUE(run_pass(assign_layouts, two_convolutions("Relu"), PassContext{}).done.empty());
}

TEST(AssignLayouts, OutputsKeepNameAndLayout) {
  const graph::Graph before = two_convolutions("Relu");
  const PassOutcome outcome = run_pass(assign_layouts, before, blocked_target({"Conv", "Relu"}));
  const graph::ValueId output = outcome.graph.outputs()[0];
  EXPECT_EQ(outcome.graph.value(output).name, before.value(before.outputs()[0]).name);
  EXPECT_EQ(outcome.graph.type(output).layout, Layout::kPlain);
}

}  // namespace
}  // namespace hone::passes
