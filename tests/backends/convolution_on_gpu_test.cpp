// Convolutions on a GPU against the reference: every form, type and layout, with what follows them. Without a GPU over a cuDNN
// that the host computes (cuda/testing/fake_cudnn.cpp); on one (ctest -L cuda) by NVIDIA's, where the last test prints each
// engine's error and time: what is wrong there is a line of that table.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tests/backends/convolution_cases.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/op_table.h"
#include "runtime/interpreter.h"
#include "runtime/kernel_timer.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using ::testing::HasSubstr;

class ConvolutionOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  // f32 is summed in f32, in another order; the rest is rounded once.
  CompareOptions options() const {
    CompareOptions options;
    options.provider = provider_;
    options.tolerance = 2e-6;
    return options;
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, ConvolutionOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, ConvolutionOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConvolutionOnGpu);

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};
const char* const kLayouts[] = {"plain", "channels_last"};

ValueId laid_out(GraphBuilder& b, ValueId value, const std::string& layout) {
  return layout == "plain" ? value : reorder(b, value, layout);
}

ValueId plain_again(GraphBuilder& b, ValueId value, const std::string& layout) {
  return layout == "plain" ? value : reorder(b, value, "plain");
}

TEST_P(ConvolutionOnGpu, EveryFormAgrees) {
  for (const std::string layout : kLayouts) {
    for (std::size_t i = 0; i < convolution_cases().size(); ++i) {
      const ConvCase& c = convolution_cases()[i];
      for (const DType dtype : kTypes) {
        // Half types differ by how they are converted: every other form is enough of each. With channels last, where
        // kernels that reorder are compiled for each shape, the types take turns.
        const bool its_turn = layout == "plain"
                                  ? dtype == DType::kF32 || (i % 2 == 0) == (dtype == DType::kF16)
                                  : kTypes[i % 3] == dtype;
        if (!its_turn) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", dtype_name(dtype), layout, text(c)));
        compare_all_kernels(
            [&](GraphBuilder& b) -> std::vector<ValueId> {
              const ValueId x = laid_out(b, input_of(b, "x", dtype, c.input), layout);
              return {plain_again(b, conv(b, c, x), layout)};
            },
            options());
      }
    }
  }
}

// What follows a convolution in its group. `like` makes a value of the result's shape and layout.
struct Behind {
  const char* name;
  std::function<ValueId(GraphBuilder&, ValueId x, const std::function<ValueId()>& like)> build;
  // By other engines than the general one, which the library brings: in every type and layout.
  bool compiled = true;
};
ValueId a_channel(GraphBuilder& b, ValueId x) {
  return typed_constant(b, b.type(x).dtype, {b.type(x).shape()[1], 1, 1}, 11);
}
ValueId number(GraphBuilder& b, ValueId x, float value) {
  return b.constant("n", cast_floats(Tensor::scalar_f32(value), b.type(x).dtype));
}

const std::vector<Behind>& epilogues() {
  static const std::vector<Behind> all = {
      {"Relu", [](GraphBuilder& b, ValueId x, const auto&) { return b.add("Relu", {x}); }},
      {"Sigmoid", [](GraphBuilder& b, ValueId x, const auto&) { return b.add("Sigmoid", {x}); }, false},
      {"Tanh", [](GraphBuilder& b, ValueId x, const auto&) { return b.add("Tanh", {x}); }, false},
      {"Elu", [](GraphBuilder& b, ValueId x, const auto&) { return b.add("Elu", {x}); }, false},
      {"Clip to 0..0.6",
       [](GraphBuilder& b, ValueId x, const auto&) {
         return b.add("Clip", {x, number(b, x, 0), number(b, x, 0.6F)});
       },
       false},
      {"Add",
       [](GraphBuilder& b, ValueId x, const auto& like) {
         return b.add("Add", {like(), x});
       }},
      {"Add, Relu",
       [](GraphBuilder& b, ValueId x, const auto& like) {
         return b.add("Relu", {b.add("Add", {x, like()})});
       }},
      {"Add a channel's, Add, Relu",
       [](GraphBuilder& b, ValueId x, const auto& like) {
         return b.add("Relu", {b.add("Add", {b.add("Add", {a_channel(b, x), x}), like()})});
       }},
      {"Add a number",
       [](GraphBuilder& b, ValueId x, const auto&) {
         return b.add("Add", {x, number(b, x, 0.25F)});
       }},
      {"Swish",
       [](GraphBuilder& b, ValueId x, const auto&) {
         return b.add("Swish", {x}, {{"alpha", 1.5F}});
       },
       false},
      {"Gelu", [](GraphBuilder& b, ValueId x, const auto&) { return b.add("Gelu", {x}); }, false},
      {"Gelu by tanh",
       [](GraphBuilder& b, ValueId x, const auto&) {
         return b.add("Gelu", {x}, {{"approximate", std::string("tanh")}});
       },
       false},
      {"LeakyRelu",
       [](GraphBuilder& b, ValueId x, const auto&) {
         return b.add("LeakyRelu", {x}, {{"alpha", 0.2F}});
       },
       false},
      {"Softplus", [](GraphBuilder& b, ValueId x, const auto&) { return b.add("Softplus", {x}); }, false},
  };
  return all;
}

graph::Graph with_epilogue(const ConvCase& c, DType dtype, const std::string& layout, const Behind& behind) {
  return fused(
      [&](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId made = conv(b, c, laid_out(b, input_of(b, "x", dtype, c.input), layout));
        const auto like = [&] { return laid_out(b, input_of(b, "r", dtype, b.type(made).shape()), layout); };
        return {plain_again(b, behind.build(b, made, like), layout)};
      },
      graph::GroupKind::kConvolution);
}

TEST_P(ConvolutionOnGpu, EveryEpilogueAgrees) {
  const ConvCase plain{{2, 16, 7, 6}, {32, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}};
  const ConvCase without_bias{{2, 16, 7, 6}, {24, 16, 1, 1}, {}, false};
  const ConvCase depthwise{
      {2, 32, 7, 6}, {32, 1, 3, 3}, {{"group", int64_t{32}}, {"pads", Ints{1, 1, 1, 1}}}};
  for (const DType dtype : kTypes) {
    for (const std::string layout : kLayouts) {
      for (const ConvCase& c : {plain, without_bias, depthwise}) {
        for (const Behind& behind : epilogues()) {
          SCOPED_TRACE(fmt::format("{} {} {}: {}", dtype_name(dtype), layout, text(c), behind.name));
          CompareOptions how = options();
          // The rest is generated by the library, on tensor cores and with channels last; a pass asks before it fuses.
          how.reference_allowed = how.unsupported_allowed = !behind.compiled;
          how.tolerance =
              std::max(how.tolerance, 3e-6);  // cuDNN's hyperbolic tangent behind a depthwise one: 2.2e-6
          compare_all_kernels(with_epilogue(c, dtype, layout, behind), how);
        }
      }
    }
  }
}

// For some shapes cuDNN's general engine alone has Clip behind a convolution on an H100, ten times as slow as the convolution and
// Clip; the library of the tests has it so for all.
TEST(ConvolutionEpilogues, AFunctionThatOnlyTheGeneralEngineHasStaysApart) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const ConvCase plain{{2, 16, 7, 6}, {32, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}};
  for (const Behind& behind : epilogues()) {
    const std::string name = behind.name;
    if (name != "Relu" && name != "Clip to 0..0.6") continue;
    const graph::Graph graph = with_epilogue(plain, DType::kF16, "channels_last", behind);
    int groups = 0;
    for (const graph::Node& node : graph.nodes()) {
      if (node.op != "hone.Fused") continue;
      ++groups;
      EXPECT_EQ(provider->runs(graph, node), name == "Relu") << name;
    }
    EXPECT_EQ(groups, 1);
  }
}

// By our own kernel: strips that rows do not fill, strides and dilations, channels that no vector divides, in every layout.
TEST_P(ConvolutionOnGpu, EveryDepthwiseFormAgrees) {
  const std::vector<ConvCase> cases = {
      {{1, 24, 12, 11}, {24, 1, 3, 3}, {{"group", int64_t{24}}, {"pads", Ints{1, 1, 1, 1}}}, false},
      {{2, 13, 11, 14},
       {13, 1, 3, 3},
       {{"group", int64_t{13}}, {"pads", Ints{0, 1, 1, 0}}, {"strides", Ints{2, 2}}}},
      {{1, 16, 15, 13},
       {16, 1, 5, 5},
       {{"group", int64_t{16}}, {"pads", Ints{2, 2, 2, 2}}, {"strides", Ints{2, 1}}}},
      {{1, 8, 16, 17},
       {8, 1, 3, 5},
       {{"group", int64_t{8}}, {"pads", Ints{4, 4, 4, 4}}, {"dilations", Ints{2, 3}}}},
      {{1, 32, 112, 112}, {32, 1, 3, 3}, {{"group", int64_t{32}}, {"pads", Ints{1, 1, 1, 1}}}}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const std::string layout : kLayouts) {
      const DType dtype = kTypes[(i + (layout == "plain" ? 0 : 1)) % 3];
      SCOPED_TRACE(fmt::format("{} {} {}", dtype_name(dtype), layout, text(cases[i])));
      compare_all_kernels(
          [&](GraphBuilder& b) -> std::vector<ValueId> {
            const ValueId x = laid_out(b, input_of(b, "x", dtype, cases[i].input), layout);
            return {plain_again(b, conv(b, cases[i], x), layout)};
          },
          options());
    }
  }
}

// Of a function that the library has not, the convolution by the library and the function behind it are measured, too.
TEST(DepthwiseConvolutions, OfOursAreOfferedBesideTheLibrarysWithWhatFollows) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const ConvCase depthwise{
      {2, 32, 7, 6}, {32, 1, 3, 3}, {{"group", int64_t{32}}, {"pads", Ints{1, 1, 1, 1}}}};
  for (const Behind& behind : epilogues()) {
    if (behind.name != std::string("Clip to 0..0.6")) continue;
    const graph::Graph graph = with_epilogue(depthwise, DType::kF16, "channels_last", behind);
    for (const graph::Node& node : graph.nodes()) {
      if (node.op != "hone.Fused") continue;
      const auto candidates = *provider->candidates(graph, node, runtime::Share::kDevice);
      ASSERT_GE(candidates.size(), 2U);
      EXPECT_EQ((*candidates.back().make())->implementation(), "hone depthwise with epilogue (CUDA)");
      const auto first = candidates.front().make();
      ASSERT_TRUE(first.ok()) << first.error().message;
      EXPECT_THAT((*first)->implementation(), HasSubstr(", then the function (channels_last"));
    }
  }
}

// Weights that are computed, and biases, where they lie; with channels last a copy brings them there in each run.
TEST_P(ConvolutionOnGpu, ComputedWeightsAgree) {
  for (const DType dtype : kTypes) {
    for (const bool biased : {false, true}) {
      compare_all_kernels(
          [&](GraphBuilder& b) -> std::vector<ValueId> {
            std::vector<ValueId> in{input_of(b, "x", dtype, {2, 16, 7, 6}),
                                    input_of(b, "w", dtype, {24, 16, 3, 3})};
            if (biased) in.push_back(input_of(b, "b", dtype, {24}));
            return {b.add("Conv", in, {{"pads", Ints{1, 1, 1, 1}}})};
          },
          options());
      compare_all_kernels(
          [&](GraphBuilder& b) -> std::vector<ValueId> {
            const ValueId x = reorder(b, input_of(b, "x", dtype, {2, 16, 7, 6}), "channels_last");
            std::vector<ValueId> in{x, input_of(b, "w", dtype, {24, 16, 1, 1})};
            if (biased) in.push_back(input_of(b, "b", dtype, {24}));
            return {reorder(b, b.add("Conv", in), "plain")};
          },
          options());
    }
  }
}

// The names are keys of the timing cache.
TEST_P(ConvolutionOnGpu, EnginesHaveTheSameNamesEachTime) {
  const auto names = [&](const runtime::Provider& provider) {
    const graph::Graph graph = make_graph([](GraphBuilder& b) -> std::vector<ValueId> {
      return {conv(b, convolution_cases()[2], f32_input(b, "x", convolution_cases()[2].input))};
    });
    std::vector<std::string> all;
    const auto candidates = *provider.candidates(graph, graph.nodes().back(), runtime::Share::kDevice);
    for (const runtime::Candidate& candidate : candidates) all.push_back(candidate.name);
    return all;
  };
  const auto first = names(*provider_);
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, names(*runtime::testing::provider_named(GetParam())));
}

// What has no kernel runs on the host, and says why.
TEST_P(ConvolutionOnGpu, WhatItRefusesIsNamedWithTheReason) {
  const graph::Graph graph = make_graph([](GraphBuilder& b) -> std::vector<ValueId> {
    return {b.add("ConvTranspose", {f32_input(b, "x", {1, 1, 3, 3}), f32_constant(b, {1, 2, 3, 3})},
                  {{"output_shape", Ints{12, 9}}, {"strides", Ints{3, 2}}})};
  });
  const auto candidates = provider_->candidates(graph, graph.nodes()[0], runtime::Share::kDevice);
  ASSERT_TRUE(candidates.ok());
  ASSERT_EQ(candidates->size(), 1U);
  EXPECT_TRUE(candidates->front().reference);
  const auto kernel = candidates->front().make();
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_THAT((*kernel)->implementation(),
              HasSubstr("reference, off the GPU: no convolution gives its input"));
}

// --- the table: each engine's error and time ---

// Layers of ResNet-50, MobileNetV2 and a U-Net.
std::vector<ConvCase> layers(bool on_a_gpu) {
  if (!on_a_gpu) return {{{1, 16, 9, 8}, {24, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}}};
  const Ints around{1, 1, 1, 1};
  return {{{8, 3, 224, 224}, {64, 3, 7, 7}, {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}}},
          {{8, 64, 56, 56}, {64, 64, 1, 1}, {}},
          {{8, 64, 56, 56}, {64, 64, 3, 3}, {{"pads", around}}},
          {{8, 64, 56, 56}, {256, 64, 1, 1}, {}},
          {{8, 256, 56, 56}, {512, 256, 1, 1}, {{"strides", Ints{2, 2}}}},
          {{8, 128, 56, 56}, {128, 128, 3, 3}, {{"pads", around}, {"strides", Ints{2, 2}}}},
          {{8, 512, 7, 7}, {512, 512, 3, 3}, {{"pads", around}}},
          {{8, 96, 56, 56}, {96, 1, 3, 3}, {{"group", int64_t{96}}, {"pads", around}}},
          {{2, 64, 256, 256}, {64, 64, 3, 3}, {{"pads", around}}},
          {{2, 128, 64, 64}, {128, 64, 2, 2}, {{"strides", Ints{2, 2}}}, true, "ConvTranspose"},
          {{1, 32, 16, 64, 64}, {32, 32, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1, 1, 1}}}}};
}

double relative_error(const Tensor& found, const Tensor& wanted) {
  double error = 0, norm = 0;
  for (int64_t i = 0; i < wanted.size(); ++i) {
    const double difference = found.at(i) - wanted.at(i);
    error += difference * difference;
    norm += wanted.at(i) * wanted.at(i);
  }
  return std::sqrt(error / norm);
}

// The same numbers in f32, by the CPU's kernels.
Tensor by_the_cpu(const graph::Graph& in_f32, const Tensor& input) {
  const auto cpu = runtime::testing::cpu_provider();
  runtime::PlanOptions quick;
  quick.autotune = false;
  auto plan = *runtime::Plan::compile(in_f32, *cpu, quick);
  return (*plan->run(std::vector{cast_floats(input, DType::kF32)}))[0];
}

class ConvolutionTable : public ConvolutionOnGpu {};
INSTANTIATE_TEST_SUITE_P(All, ConvolutionTable, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, ConvolutionTable, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConvolutionTable);

TEST_P(ConvolutionTable, EachEngineIsAsExactAsItSays) {
  const bool on_a_gpu = std::string(GetParam()) == "cuda";
  auto timer = provider_->make_timer(0, runtime::Share::kDevice);
  ASSERT_TRUE(timer.ok()) << timer.error().message;
  if (on_a_gpu) std::printf("%s\n", provider_->signature(runtime::Share::kDevice).c_str());
  for (const ConvCase& c : layers(on_a_gpu)) {
    for (const DType dtype : kTypes) {
      // Weights and bias of a type are what the reference has, too: rounded before it widens them.
      const auto build = [&](const std::string& layout, bool widened) {
        return make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId x = input_of(b, "x", widened ? DType::kF32 : dtype, c.input);
          return {plain_again(b, conv(b, c, laid_out(b, x, layout), dtype), layout)};
        });
      };
      const Tensor input = random_floats_of(dtype, c.input, 7);
      const Tensor wanted = by_the_cpu(build("plain", true), input);
      for (const std::string layout : kLayouts) {
        const graph::Graph graph = build(layout, false);
        const auto node = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                       [&](const graph::Node& n) { return n.op == c.op; });
        const auto candidates = *provider_->candidates(graph, *node, runtime::Share::kDevice);
        for (std::size_t i = 0; i < candidates.size(); ++i) {
          const auto only = only_candidate(*provider_, i);
          const std::string row =
              fmt::format("{:5} {:13} {:48} {:32}", dtype_name(dtype), layout, text(c), candidates[i].name);
          runtime::PlanOptions quick;
          quick.autotune = false;
          auto plan = runtime::Plan::compile(graph, *only, quick);
          if (!plan.ok()) {
            std::printf("%s cannot be made: %s\n", row.c_str(), plan.error().message.c_str());
            continue;
          }
          const auto found = (*plan)->run(std::vector{input});
          ASSERT_TRUE(found.ok()) << row << ": " << found.error().message;
          const double error = relative_error((*found)[0], wanted);
          EXPECT_LE(error, dtype == DType::kF32 ? 2e-6 : dtype == DType::kF16 ? 4e-4 : 3e-3) << row;
          if (!on_a_gpu) continue;
          auto kernel = candidates[i].make();
          auto sandbox = (*timer)->sandbox(graph, *node);
          ASSERT_TRUE(kernel.ok() && sandbox.ok()) << row;
          const auto stopwatch = (*timer)->stopwatch(**sandbox, **kernel);
          double best = 1e30;
          for (int reading = 0; reading < 5; ++reading) {
            const auto microseconds = stopwatch();
            ASSERT_TRUE(microseconds.ok()) << row << ": " << microseconds.error().message;
            best = std::min(best, *microseconds);
          }
          std::printf("%s error %.1e %9.1f us %7.2f TFLOP/s\n", row.c_str(), error, best,
                      graph::node_cost(graph, *node).flops / best * 1e-6);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hone::backends
