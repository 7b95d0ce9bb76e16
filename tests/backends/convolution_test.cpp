// Convolutions on the CPU against the reference: forms, layouts, convolution_epilogues.
#include "tests/backends/convolution_cases.h"
#include <gtest/gtest.h>

#include "graph/op_table.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

TEST(Convolution, EveryFormAgreesInThePlainLayout) {
  for (const ConvCase& c : convolution_cases()) {
    SCOPED_TRACE(text(c));
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> { return {conv(b, c, f32_input(b, "x", c.input))}; });
  }
}

class LayoutTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Convolution, LayoutTest,
                         ::testing::Values("channels_last", "blocked16", "blocked8"));

TEST_P(LayoutTest, EveryFormAgrees) {
  for (const ConvCase& c : convolution_cases()) {
    SCOPED_TRACE(text(c));
    // oneDNN has no fast kernel for some channel counts that are no whole blocks.
    CompareOptions options;
    options.unsupported_allowed = c.input[1] % 16 != 0 || c.attributes.has("auto_pad");
    const Build build = [&](GraphBuilder& b) -> std::vector<ValueId> {
      const ValueId x = reorder(b, f32_input(b, "x", c.input), GetParam());
      return {reorder(b, conv(b, c, x), "plain")};
    };
    compare_all_kernels(build, options);
  }
}

// What can follow a convolution in its group; `like` is a value of the result's shape and layout.
using AfterConvolution =
    std::function<ValueId(GraphBuilder&, ValueId x, const std::function<ValueId()>& like)>;

std::vector<std::pair<std::string, AfterConvolution>> convolution_epilogues() {
  std::vector<std::pair<std::string, AfterConvolution>> all;
  for (const char* op : {"Relu", "LeakyRelu", "Sigmoid", "Tanh", "Gelu", "Swish", "HardSwish", "HardSigmoid",
                         "Elu", "Mish", "Softplus", "Exp", "Abs"}) {
    all.push_back({op, [op](GraphBuilder& b, ValueId x, const auto&) { return b.add(op, {x}); }});
  }
  all.push_back({"tanh Gelu", [](GraphBuilder& b, ValueId x, const auto&) {
                   return b.add("Gelu", {x}, {{"approximate", std::string("tanh")}});
                 }});
  all.push_back({"Clip", [](GraphBuilder& b, ValueId x, const auto&) {
                   return b.add("Clip", {x, scalar(b, 0.0F), scalar(b, 0.6F)});
                 }});
  all.push_back({"half-open Clip", [](GraphBuilder& b, ValueId x, const auto&) {
                   return b.add("Clip", {x, graph::kNoValue, scalar(b, 0.2F)});
                 }});
  all.push_back({"Add, Relu", [](GraphBuilder& b, ValueId x, const auto& like) {
                   return b.add("Relu", {b.add("Add", {x, like()})});
                 }});
  all.push_back({"Swish, Add", [](GraphBuilder& b, ValueId x, const auto& like) {
                   return b.add("Add", {like(), b.add("Swish", {x}, {{"alpha", 1.5F}})});
                 }});
  all.push_back({"Mul by itself plus a half", [](GraphBuilder& b, ValueId x, const auto& like) {
                   return b.add("Sub", {b.add("Mul", {like(), x}), scalar(b, 0.5F)});
                 }});
  return all;
}

TEST(Convolution, EveryEpilogueAgreesInEveryLayout) {
  const ConvCase plain{{2, 16, 7, 6}, {32, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}};
  const ConvCase pointwise{{2, 16, 7, 6}, {32, 16, 1, 1}, {}};
  const ConvCase depthwise{
      {2, 32, 7, 6}, {32, 1, 3, 3}, {{"group", int64_t{32}}, {"pads", Ints{1, 1, 1, 1}}}};
  const ConvCase transposed{{2, 16, 4, 3}, {16, 32, 2, 2}, {{"strides", Ints{2, 2}}}, true, "ConvTranspose"};
  for (const std::string layout : {"plain", "channels_last", "blocked16"}) {
    for (const ConvCase& c : {plain, pointwise, depthwise, transposed}) {
      for (const auto& [name, behind] : convolution_epilogues()) {
        SCOPED_TRACE(layout + " " + text(c) + ": " + name);
        const Build build = [&, &behind_ = behind](GraphBuilder& b) -> std::vector<ValueId> {
          auto wanted = [&](ValueId v) { return layout == "plain" ? v : reorder(b, v, layout); };
          const ValueId x = wanted(f32_input(b, "x", c.input));
          const ValueId made = conv(b, c, x);
          auto like = [&] { return wanted(f32_input(b, "r", b.type(made).shape())); };
          return {reorder(b, behind_(b, made, like), "plain")};
        };
        compare_all_kernels(fused(build, graph::GroupKind::kConvolution));
      }
    }
  }
}

// Quantised and back: u8 with a zero point in the middle, coarse enough that values are cut off.
ValueId quantise_and_back(GraphBuilder& b, ValueId x, float step, DType type = DType::kU8) {
  const ValueId scale = scalar(b, step);
  Tensor zero = Tensor::zeros(type, {});
  if (type == DType::kU8) zero.as<uint8_t>()[0] = 120;
  const ValueId zero_point = b.constant("z", zero);
  return b.add("DequantizeLinear", {b.add("QuantizeLinear", {x, scale, zero_point}), scale, zero_point});
}

TEST(Convolution, QuantisedResultsAgreeInEveryLayout) {
  CompareOptions options;
  options.tolerance = 3e-2;  // sums in another order may round to the next step
  const ConvCase plain{{2, 16, 7, 6}, {32, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}};
  const ConvCase padded{{1, 16, 7, 6}, {20, 16, 1, 1}, {}};  // the last block of channels is not full
  const ConvCase depthwise{
      {2, 32, 7, 6}, {32, 1, 3, 3}, {{"group", int64_t{32}}, {"pads", Ints{1, 1, 1, 1}}}};
  for (const std::string layout : {"plain", "channels_last", "blocked16"}) {
    for (const ConvCase& c : {plain, padded, depthwise}) {
      for (const DType type : {DType::kU8, DType::kI8}) {
        SCOPED_TRACE(layout + " " + text(c));
        const Build build = [&](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId x = f32_input(b, "x", c.input);
          const ValueId made = conv(b, c, layout == "plain" ? x : reorder(b, x, layout));
          return {reorder(b, quantise_and_back(b, b.add("Relu", {made}), 0.05F, type), "plain")};
        };
        compare_all_kernels(fused(build, graph::GroupKind::kConvolution), options);
        const Build function_last = [&](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId x = f32_input(b, "x", c.input);
          const ValueId made = conv(b, c, layout == "plain" ? x : reorder(b, x, layout));
          return {reorder(b, b.add("Relu", {quantise_and_back(b, made, 0.05F, type)}), "plain")};
        };
        compare_all_kernels(fused(function_last, graph::GroupKind::kConvolution), options);
      }
    }
  }
}

// A batch normalisation behind a quantised result, which no convolution can take into its weights, and a clip.
TEST(Convolution, StepsOfChannelsBehindAQuantisationAgree) {
  CompareOptions options;
  options.tolerance = 3e-2;
  const ConvCase plain{{2, 16, 9, 10}, {32, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}};
  const ConvCase pixels{{2, 16, 9, 10}, {40, 16, 1, 1}, {}};  // the last block of channels is not full
  const ConvCase small{{1, 16, 3, 3}, {9, 16, 1, 1}, {}};
  const ConvCase gathered{{2, 16, 9, 10}, {24, 16, 3, 3}, {{"strides", Ints{2, 2}}}};
  const ConvCase depthwise{
      {2, 24, 9, 10}, {24, 1, 3, 3}, {{"group", int64_t{24}}, {"pads", Ints{1, 1, 1, 1}}}};
  for (const ConvCase& c : {plain, pixels, small, gathered, depthwise}) {
    for (const float low : {0.0F, 0.25F}) {  // the second would fill the padding
      SCOPED_TRACE(text(c) + " " + std::to_string(low));
      const int64_t channels = c.weights[0];
      const Build build = [&](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId made = conv(b, c, reorder(b, f32_input(b, "x", c.input), "blocked16"));
        const ValueId quantised = quantise_and_back(b, made, 0.05F, DType::kU8);
        const ValueId scaled = b.add("Mul", {quantised, f32_constant(b, {1, channels, 1, 1}, 5)});
        const ValueId shifted = b.add("Add", {f32_constant(b, {channels, 1, 1}, 6), scaled});
        const ValueId y = b.add("Clip", {shifted, scalar(b, low), scalar(b, 1)});
        return {reorder(b, y, "plain")};
      };
      options.unsupported_allowed = low > 0 && channels % 16 != 0;
      compare_all_kernels(fused(build, graph::GroupKind::kConvolution), options);
    }
  }
}

TEST(Convolution, ComputedWeightsAgree) {
  const ConvCase plain{{2, 16, 7, 6}, {32, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}};
  const ConvCase odd{{1, 3, 9, 8}, {5, 3, 3, 3}, {{"strides", Ints{2, 2}}}};
  const ConvCase grouped{{1, 8, 7, 6}, {12, 2, 3, 3}, {{"group", int64_t{4}}}};
  const ConvCase line{{2, 4, 11}, {6, 4, 3}, {}};
  for (const ConvCase& c : {plain, odd, grouped, line}) {
    for (const bool biased : {false, true}) {
      SCOPED_TRACE(text(c) + (biased ? " with bias" : ""));
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
        std::vector<ValueId> in{f32_input(b, "x", c.input), f32_input(b, "w", c.weights)};
        if (biased) in.push_back(f32_input(b, "b", {c.weights[0]}));
        return {b.add("Conv", in, c.attributes)};
      });
    }
  }
  SCOPED_TRACE("transposed");
  compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
    return {b.add("ConvTranspose", {f32_input(b, "x", {2, 16, 4, 3}), f32_input(b, "w", {16, 8, 2, 2})},
                  {{"strides", Ints{2, 2}}})};
  });
}

// The extents beyond what the window reaches are filled up, which no kernel of the library does.
TEST(Convolution, AnOutputShapeBeyondTheWindowAgrees) {
  CompareOptions options;
  options.reference_allowed = true;
  for (const bool constant : {true, false}) {
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId w = constant ? f32_constant(b, {1, 2, 3, 3}) : f32_input(b, "w", {1, 2, 3, 3});
          return {b.add("ConvTranspose", {f32_input(b, "x", {1, 1, 3, 3}), w},
                        {{"output_shape", Ints{10, 8}}, {"strides", Ints{3, 2}}})};
        },
        options);
  }
}

TEST(Convolution, AComputedBiasWithConstantWeightsAgrees) {
  compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
    return {b.add(
        "Conv", {f32_input(b, "x", {1, 16, 7, 6}), f32_constant(b, {8, 16, 3, 3}), f32_input(b, "b", {8})})};
  });
}

TEST(Convolution, EpiloguesBehindComputedWeightsAgree) {
  for (const std::string layout : {"plain", "blocked16"}) {
    SCOPED_TRACE(layout);
    const Build build = [&](GraphBuilder& b) -> std::vector<ValueId> {
      const ValueId x = f32_input(b, "x", {2, 16, 7, 6});
      const ValueId made = b.add("Conv", {layout == "plain" ? x : reorder(b, x, layout),
                                          f32_input(b, "w", {32, 16, 3, 3}), f32_input(b, "b", {32})});
      const ValueId like = f32_input(b, "r", {2, 32, 5, 4});
      const ValueId added = b.add("Add", {made, layout == "plain" ? like : reorder(b, like, layout)});
      return {reorder(b, b.add("Relu", {added}), "plain")};
    };
    compare_all_kernels(fused(build, graph::GroupKind::kConvolution));
  }
}

// oneDNN 2.6 takes the parameters of one of them for both: nothing may be offered that does.
TEST(Convolution, OneFunctionTwiceWithOtherParametersAgrees) {
  CompareOptions options;
  options.reference_allowed = options.unsupported_allowed = true;
  for (const std::string layout : {"plain", "channels_last", "blocked16"}) {
    for (const int64_t kernel : {1, 3}) {
      SCOPED_TRACE(layout);
      const auto with = [&](const AfterConvolution& behind) -> Build {
        return [=](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId x = reorder(b, f32_input(b, "x", {1, 16, 7, 6}), layout);
          return {reorder(b, behind(b, b.add("Conv", {x, f32_constant(b, {32, 16, kernel, kernel})}), {}),
                          "plain")};
        };
      };
      const Build clips = with([](GraphBuilder& b, ValueId x, const auto&) {
        const ValueId once = b.add("Clip", {x, scalar(b, -0.2F), scalar(b, 0.6F)});
        return b.add("Clip", {b.add("Add", {once, scalar(b, -0.3F)}), scalar(b, -0.4F), scalar(b, 0.2F)});
      });
      compare_all_kernels(fused(clips, graph::GroupKind::kConvolution), options);
      const Build leaky = with([](GraphBuilder& b, ValueId x, const auto&) {
        const ValueId once = b.add("LeakyRelu", {x}, {{"alpha", 0.5F}});
        return b.add("Relu", {b.add("Sub", {once, scalar(b, 0.2F)})});
      });
      compare_all_kernels(fused(leaky, graph::GroupKind::kConvolution), options);
      const Build hard = with([](GraphBuilder& b, ValueId x, const auto&) {
        return b.add("Clip", {b.add("HardSigmoid", {x}), scalar(b, 0.3F), scalar(b, 0.6F)});
      });
      compare_all_kernels(fused(hard, graph::GroupKind::kConvolution), options);
    }
  }
}

TEST(Convolution, AnOperandAChannelAgrees) {
  for (const Shape& operand : {Shape{32, 1, 1}, Shape{1, 32, 1, 1}, Shape{1, 1, 1, 1}, Shape{1}}) {
    for (const char* op : {"Mul", "Add", "Sub", "Div"}) {
      SCOPED_TRACE(op + shape_text(operand));
      const Build build = [&](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId x = f32_input(b, "x", {1, 16, 7, 6});
        const ValueId y = b.add("Conv", {x, f32_constant(b, {32, 16, 3, 3}, 3)});
        return {b.add("Relu", {b.add(op, {y, b.constant("slope", random_floats(operand, 5, 0.5, 2))})})};
      };
      compare_all_kernels(fused(build, graph::GroupKind::kConvolution));
    }
  }
}

TEST(Convolution, AnEmptyBatchIsLeftToTheReference) {
  for (const char* op : {"Conv", "ConvTranspose"}) {
    SCOPED_TRACE(op);
    const graph::Graph graph = make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add(op, {f32_input(b, "x", {0, 16, 7, 6}), f32_constant(b, {16, 16, 3, 3})})};
    });
    const auto candidates =
        runtime::testing::cpu_provider(1)->candidates(graph, graph.nodes().back(), runtime::Share::kDevice);
    ASSERT_TRUE(candidates.ok()) << candidates.error().message;
    ASSERT_EQ(candidates->size(), 1u);
    EXPECT_TRUE(candidates->front().reference);
  }
}

// Floors are right only if no kernel gets along with fewer FLOPs than the cheapest algorithm is said to need.
TEST(Convolution, KernelsNameTheirAlgorithmAndNeedNoFewerFlopsThanTheCheapest) {
  const graph::Graph graph = make_graph([](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId x = reorder(b, f32_input(b, "x", {1, 64, 18, 15}), "blocked16");
    return {b.add("Conv", {x, f32_constant(b, {64, 64, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}})};
  });
  const graph::Node& node = graph.nodes().back();
  const graph::Cost cost = graph::node_cost(graph, node);
  const auto candidates = runtime::testing::cpu_provider(1)->candidates(graph, node, runtime::Share::kDevice);
  ASSERT_TRUE(candidates.ok()) << candidates.error().message;
  for (const runtime::Candidate& candidate : *candidates) {
    const auto kernel = candidate.make();
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    const runtime::FastAlgorithm algorithm = (*kernel)->algorithm();
    const std::string name = (*kernel)->implementation();
    const bool winograd =
        name.find("wino") != std::string::npos || name.find("Winograd") != std::string::npos;
    EXPECT_EQ(algorithm.name.starts_with("Winograd"), winograd) << (*kernel)->implementation();
    EXPECT_EQ(algorithm.flops_saved > 0, winograd) << (*kernel)->implementation();
    EXPECT_GE(cost.flops - algorithm.flops_saved, cost.least_flops) << (*kernel)->implementation();
  }
}

}  // namespace
}  // namespace hone::backends
