// The gradient of attention on a GPU against the reference in f64, of what the forward pass kept and of what is computed
// again: without a GPU over a cuDNN that computes each operation of the graph as it is described
// (cuda/testing/fake_cudnn_composition.cpp), on one (ctest -L cuda) by NVIDIA's.
#include <cstring>

#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;
using ::testing::HasSubstr;
using Values = std::vector<ValueId>;

class AttentionGradientOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  // A gradient is a sum of products of numbers that were rounded: scores, weights, the result.
  CompareOptions options(DType dtype) const {
    CompareOptions options;
    options.provider = provider_;
    options.tolerance = dtype == DType::kBF16 ? 1.5e-2 : 5e-3;
    return options;
  }
  // What the node that gives the first output would run by.
  std::vector<std::string> offered(const graph::Graph& graph) const {
    std::vector<std::string> names;
    const auto candidates = provider_->candidates(graph, graph.node(graph.value(graph.outputs()[0]).producer),
                                                  runtime::Share::kDevice);
    for (const runtime::Candidate& candidate : *candidates) {
      const auto kernel = candidate.make();
      names.push_back(kernel.ok() ? (*kernel)->implementation() : kernel.error().message);
    }
    return names;
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, AttentionGradientOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, AttentionGradientOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AttentionGradientOnGpu);

struct GradientCase {
  Shape q, k, v, y;
  Attributes attributes = {};
  Shape mask = {};
};

const std::vector<GradientCase>& gradient_cases() {
  const auto packed = [](int64_t heads, int64_t kv_heads, int64_t causal) {
    return Attributes{{"q_num_heads", heads}, {"kv_num_heads", kv_heads}, {"is_causal", causal}};
  };
  static const std::vector<GradientCase> all = {
      {{2, 3, 64, 64}, {2, 3, 64, 64}, {2, 3, 64, 64}, {2, 3, 64, 64}, {{"is_causal", int64_t{1}}}},
      {{1, 2, 77, 64},
       {1, 2, 77, 64},
       {1, 2, 77, 64},
       {1, 2, 77, 64},
       {{"is_causal", int64_t{1}}, {"scale", 0.3F}}},
      {{2, 2, 33, 32}, {2, 2, 33, 32}, {2, 2, 33, 32}, {2, 2, 33, 32}},  // every query sees all
      {{1, 6, 19, 24}, {1, 2, 41, 24}, {1, 2, 41, 24}, {1, 6, 19, 24}},  // a key's head for three
      {{1, 4, 40, 128}, {1, 2, 30, 128}, {1, 2, 30, 128}, {1, 4, 40, 128}, {{"is_causal", int64_t{1}}}},
      {{2, 39, 48}, {2, 39, 48}, {2, 39, 48}, {2, 39, 48}, packed(3, 3, 1)},  // heads within rows
      {{2, 7, 64}, {2, 19, 32}, {2, 19, 32}, {2, 7, 64}, packed(4, 2, 0)},
      {{2, 2, 24, 16}, {2, 2, 40, 16}, {2, 2, 40, 16}, {2, 2, 24, 16}, {}, {24, 40}},  // a mask for all heads
      {{2, 2, 24, 16}, {2, 2, 40, 16}, {2, 2, 40, 16}, {2, 2, 24, 16}, {}, {2, 2, 24, 40}},
      {{1, 2, 25, 16},
       {1, 2, 24, 16},
       {1, 2, 24, 16},
       {1, 2, 25, 16},
       {{"is_causal", int64_t{1}}},
       {1, 2, 25, 24}},
  };
  return all;
}

std::string gradient_text(DType dtype, const GradientCase& c) {
  return fmt::format("{} q {} k {} v {} mask {}", dtype_name(dtype), shape_text(c.q), shape_text(c.k),
                     shape_text(c.v), shape_text(c.mask));
}

struct GradientOperands {
  Values inputs;  // queries, keys, values, and the mask
  ValueId d_y;
};
GradientOperands gradient_operands(GraphBuilder& b, DType dtype, const GradientCase& c) {
  GradientOperands made{
      {input_of(b, "q", dtype, c.q), input_of(b, "k", dtype, c.k), input_of(b, "v", dtype, c.v)},
      input_of(b, "dy", dtype, c.y)};
  if (!c.mask.empty()) made.inputs.push_back(input_of(b, "mask", dtype, c.mask));
  return made;
}
// Gradients first; with what the forward pass gives.
Values gradient_with_sums(GraphBuilder& b, DType dtype, const GradientCase& c) {
  const GradientOperands o = gradient_operands(b, dtype, c);
  const Values kept = b.add_many("hone.AttentionWithSums", o.inputs, 2, c.attributes);
  Values read = o.inputs;
  read.resize(4, kNoValue);
  read.insert(read.end(), {o.d_y, kept[0], kept[1]});
  Values outputs = b.add_many("hone.AttentionGradient", read, 3, c.attributes);
  outputs.insert(outputs.end(), kept.begin(), kept.end());
  return outputs;
}
Values gradient_alone(GraphBuilder& b, DType dtype, const GradientCase& c) {
  const GradientOperands o = gradient_operands(b, dtype, c);
  Values read = o.inputs;
  read.resize(4, kNoValue);
  read.push_back(o.d_y);
  return b.add_many("hone.AttentionGradient", read, 3, c.attributes);
}

TEST_P(AttentionGradientOnGpu, OfWhatTheForwardPassKeptAgrees) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    for (const GradientCase& c : gradient_cases()) {
      SCOPED_TRACE(gradient_text(dtype, c));
      compare_all_kernels([&](GraphBuilder& b) { return gradient_with_sums(b, dtype, c); }, options(dtype));
      CompareOptions exact = options(dtype);
      exact.tolerance = 1e-3;  // of the sums, which are f32
      compare_all_kernels(
          [&](GraphBuilder& b) {
            return b.add_many("hone.AttentionWithSums", gradient_operands(b, dtype, c).inputs, 2,
                              c.attributes);
          },
          exact);
    }
  }
}

TEST_P(AttentionGradientOnGpu, WithTheAttentionComputedAgainAgrees) {
  for (const std::size_t i : {std::size_t{1}, std::size_t{3}, std::size_t{5}, std::size_t{8}}) {
    const DType dtype = i % 2 == 0 ? DType::kF16 : DType::kBF16;
    SCOPED_TRACE(gradient_text(dtype, gradient_cases()[i]));
    compare_all_kernels([&](GraphBuilder& b) { return gradient_alone(b, dtype, gradient_cases()[i]); },
                        options(dtype));
  }
}

// Queries, keys and values read as parts of the rows of one matrix, and their gradients written as such, in another order.
TEST_P(AttentionGradientOnGpu, ThePartsOfWiderRowsAgree) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    compare_all_kernels(
        fused(
            [&](GraphBuilder& b) -> Values {
              const ValueId rows = input_of(b, "x", dtype, {2, 13, 3 * 48});
              const Values parts =
                  b.add_many("Split", {rows, ints(b, {48, 48, 48})}, 3, {{"axis", int64_t{2}}});
              const Values made = b.add_many(
                  "hone.AttentionGradient",
                  {parts[0], parts[1], parts[2], kNoValue, input_of(b, "dy", dtype, {2, 13, 48})}, 3,
                  {{"q_num_heads", int64_t{3}}, {"kv_num_heads", int64_t{3}}, {"is_causal", int64_t{1}}});
              return {b.add("Concat", {made[1], made[0], made[2]}, {{"axis", int64_t{-1}}})};
            },
            graph::GroupKind::kAttention),
        options(dtype));
  }
}

// The shape of a layer of GPT-2, by the first candidate: what training takes. Too long for the host's arithmetic.
TEST_P(AttentionGradientOnGpu, OfGpt2IsTheSameEachTimeAndAgrees) {
  const bool real = std::string_view(GetParam()) == "cuda";
  const int64_t length = real ? 1024 : 72, heads = real ? 12 : 2;
  const GradientCase c{{2, length, heads * 64},
                       {2, length, heads * 64},
                       {2, length, heads * 64},
                       {2, length, heads * 64},
                       {{"q_num_heads", heads}, {"kv_num_heads", heads}, {"is_causal", int64_t{1}}}};
  const graph::Graph graph =
      make_graph([&](GraphBuilder& b) { return gradient_with_sums(b, DType::kBF16, c); });
  compare_all_kernels(graph, options(DType::kBF16));
  runtime::PlanOptions first;
  first.autotune = false;
  const auto plan = runtime::Plan::compile(graph, *provider_, first);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::vector<Tensor> inputs;
  for (uint32_t i = 0; i < graph.inputs().size(); ++i)
    inputs.push_back(random_floats_of(DType::kBF16, graph.type(graph.inputs()[i]).shape(), i + 1));
  const auto once = (*plan)->run(inputs);
  ASSERT_TRUE(once.ok()) << once.error().message;
  for (int run = 0; run < (real ? 20 : 1); ++run) {
    const auto again = (*plan)->run(inputs);
    ASSERT_TRUE(again.ok());
    for (std::size_t i = 0; i < once->size(); ++i)
      EXPECT_EQ(std::memcmp((*once)[i].data(), (*again)[i].data(), (*once)[i].bytes()), 0) << "output " << i;
  }
}

// What adds in any order stands behind what gives the same bits, which training without measuring takes.
TEST_P(AttentionGradientOnGpu, PrefersWhatGivesTheSameBits) {
  const auto names = offered(
      make_graph([&](GraphBuilder& b) { return gradient_with_sums(b, DType::kBF16, gradient_cases()[0]); }));
  ASSERT_GE(names.size(), 2U);
  EXPECT_THAT(names.front(), ::testing::StartsWith("cuDNN attention gradient, engine"));
  EXPECT_THAT(names.back(), ::testing::StartsWith("cuDNN attention gradient by atomics, engine"));
}

TEST_P(AttentionGradientOnGpu, WhatItRefusesIsNamedWithTheReason) {
  const auto of = [&](DType dtype, const GradientCase& c) {
    return offered(make_graph([&](GraphBuilder& b) { return gradient_alone(b, dtype, c); })).front();
  };
  GradientCase c{{1, 2, 8, 16}, {1, 2, 8, 16}, {1, 2, 8, 16}, {1, 2, 8, 16}};
  EXPECT_THAT(of(DType::kF32, c), HasSubstr("cuDNN's attention is of f16 and bf16, not of f32"));
  c.mask = {1, 1, 1, 8};
  EXPECT_THAT(of(DType::kF16, c), HasSubstr("masks of each query and key"));
  c.mask = {};
  const GradientCase one{{1, 2, 1, 16}, {1, 2, 8, 16}, {1, 2, 8, 16}, {1, 2, 1, 16}};
  EXPECT_THAT(of(DType::kF16, one), HasSubstr("no gradient of attention for one query"));
  const GradientCase odd{{1, 2, 8, 20}, {1, 2, 8, 20}, {1, 2, 8, 20}, {1, 2, 8, 20}};
  EXPECT_THAT(of(DType::kF16, odd), HasSubstr("a multiple of 8 columns"));
}

}  // namespace
}  // namespace hone::backends
