// Attention on a GPU against the reference, by cuDNN and by our own kernel: without a GPU over a cuDNN that the host computes
// (cuda/testing/fake_cudnn.cpp) and on the host, on one (ctest -L cuda) by NVIDIA's.
#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/prepared.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using ::testing::HasSubstr;

class AttentionOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  CompareOptions options() const {
    CompareOptions options;
    options.provider = provider_;
    return options;
  }
  std::string implementation(const graph::Graph& graph) const {
    const auto candidates = provider_->candidates(graph, graph.nodes().back(), runtime::Share::kDevice);
    if (!candidates.ok() || candidates->empty()) return "none";
    const auto kernel = candidates->front().make();
    return kernel.ok() ? (*kernel)->implementation() : kernel.error().message;
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, AttentionOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, AttentionOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AttentionOnGpu);

struct HeadsCase {
  Shape q, k, v;
  Attributes attributes = {};
};

ValueId attention(GraphBuilder& b, DType dtype, const HeadsCase& c) {
  return b.add("Attention",
               {input_of(b, "q", dtype, c.q), input_of(b, "k", dtype, c.k), input_of(b, "v", dtype, c.v)},
               c.attributes);
}

TEST_P(AttentionOnGpu, EveryFormAgrees) {
  const std::vector<HeadsCase> cases = {
      {{2, 3, 17, 16}, {2, 3, 17, 16}, {2, 3, 17, 16}},
      {{1, 4, 9, 64}, {1, 4, 21, 64}, {1, 4, 21, 32}, {{"scale", 0.3F}}},
      {{2, 6, 5, 24}, {2, 2, 11, 24}, {2, 2, 11, 24}},  // each key's head for three of queries
      {{1, 2, 1, 256}, {1, 2, 40, 256}, {1, 2, 40, 8}},
      {{2, 13, 48}, {2, 13, 48}, {2, 13, 48}, {{"q_num_heads", int64_t{3}}, {"kv_num_heads", int64_t{3}}}},
      {{2, 7, 64}, {2, 19, 32}, {2, 19, 32}, {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}}},
  };
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const HeadsCase& c : cases) {
      SCOPED_TRACE(fmt::format("{} q {} k {} v {}", dtype_name(dtype), shape_text(c.q), shape_text(c.k),
                               shape_text(c.v)));
      compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> { return {attention(b, dtype, c)}; },
                          options());
    }
  }
}

// Queries, keys and values as parts of the rows of one matrix, read where they lie.
TEST_P(AttentionOnGpu, ThePartsOfWiderRowsAgree) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    compare_all_kernels(fused(
                            [&](GraphBuilder& b) -> std::vector<ValueId> {
                              const ValueId rows = input_of(b, "x", dtype, {2, 13, 3 * 48});
                              const auto parts = b.add_many("Split", {rows, ints(b, {48, 48, 48})}, 3,
                                                            {{"axis", int64_t{2}}});
                              return {b.add("Attention", {parts[0], parts[1], parts[2]},
                                            {{"q_num_heads", int64_t{3}}, {"kv_num_heads", int64_t{3}}})};
                            },
                            graph::GroupKind::kAttention),
                        options());
  }
}

// By our own kernel, and by cuDNN where it takes them: masks of each kind, causal ones, f32, heads of any width, tiles that keys and queries do not fill.
TEST_P(AttentionOnGpu, MaskedAndOddFormsAgree) {
  const std::vector<HeadsCase> cases = {
      {{2, 3, 17, 16}, {2, 3, 17, 16}, {2, 3, 17, 16}, {{"is_causal", int64_t{1}}}},
      {{1, 2, 70, 64}, {1, 2, 70, 64}, {1, 2, 70, 64}, {{"is_causal", int64_t{1}}, {"scale", 0.7F}}},
      {{1, 2, 5, 20}, {1, 2, 41, 20}, {1, 2, 41, 33}},
      {{1, 4, 33, 128}, {1, 2, 65, 128}, {1, 2, 65, 96}},
      {{2, 9, 15}, {2, 34, 15}, {2, 34, 21}, {{"q_num_heads", int64_t{3}}, {"kv_num_heads", int64_t{3}}}},
  };
  const auto rows = [](const Shape& shape) { return shape[shape.size() - 2]; };
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const HeadsCase& c : cases) {
      const int64_t heads = c.q.size() == 4 ? c.q[1] : 3;
      const std::vector<Shape> masks = {
          {}, {rows(c.q), rows(c.k)}, {1, heads, 1, rows(c.k)}, {c.q[0], 1, rows(c.q), 1}};
      for (std::size_t m = 0; m < masks.size(); ++m) {
        if (dtype != DType::kF32 && (m + (dtype == DType::kF16 ? 0 : 1)) % 2 == 0)
          continue;  // as long to compile as all the rest
        SCOPED_TRACE(fmt::format("{} q {} k {} mask {}", dtype_name(dtype), shape_text(c.q), shape_text(c.k),
                                 shape_text(masks[m])));
        compare_all_kernels(
            [&](GraphBuilder& b) -> std::vector<ValueId> {
              std::vector<ValueId> inputs = {input_of(b, "q", dtype, c.q), input_of(b, "k", dtype, c.k),
                                             input_of(b, "v", dtype, c.v)};
              if (m > 0) inputs.push_back(input_of(b, "mask", m == 2 ? DType::kBool : dtype, masks[m]));
              return {b.add("Attention", inputs, c.attributes)};
            },
            options());
      }
    }
  }
}

// On tensor cores: tiles of keys that four warps part unevenly, more queries than a block has, wide heads, several of queries a
// key's, parts of wider rows.
TEST_P(AttentionOnGpu, OnTensorCoresAgrees) {
  const std::vector<HeadsCase> cases = {
      {{1, 3, 77, 64}, {1, 3, 150, 64}, {1, 3, 150, 64}},
      {{1, 2, 130, 32}, {1, 2, 130, 32}, {1, 2, 130, 32}, {{"is_causal", int64_t{1}}, {"scale", 0.7F}}},
      {{2, 4, 19, 128}, {2, 2, 35, 128}, {2, 2, 35, 72}},
      {{1, 2, 1, 80}, {1, 2, 300, 80}, {1, 2, 300, 80}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const HeadsCase& c = cases[i];
    const DType dtype = i % 2 == 0 ? DType::kF16 : DType::kBF16;
    const graph::Graph graph = make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
      std::vector<ValueId> inputs = {input_of(b, "q", dtype, c.q), input_of(b, "k", dtype, c.k),
                                     input_of(b, "v", dtype, c.v)};
      if (i % 2 == 0) inputs.push_back(input_of(b, "mask", dtype, {c.q[0], 1, c.q[2], c.k[2]}));
      return {b.add("Attention", inputs, c.attributes)};
    });
    const auto candidates = *provider_->candidates(graph, graph.nodes().back(), runtime::Share::kDevice);
    int on_tensor_cores = 0;
    for (const auto& candidate : candidates)
      on_tensor_cores += candidate.name.find("tensor cores") != std::string::npos ? 1 : 0;
    EXPECT_EQ(on_tensor_cores, 2);
    SCOPED_TRACE(fmt::format("{} q {} k {} v {}", dtype_name(dtype), shape_text(c.q), shape_text(c.k),
                             shape_text(c.v)));
    compare_all_kernels(graph, options());
  }
}

// Scores far above and far below the rest, in tiles of keys one after another.
TEST_P(AttentionOnGpu, TheRunningMaximumHoldsOverTiles) {
  const Shape shape{1, 1, 20, 16};
  CompareOptions given = options();
  Tensor mask = Tensor::zeros(DType::kF32, {20, 100});
  for (int64_t i = 0; i < mask.size(); ++i)
    mask.as<float>()[static_cast<std::size_t>(i)] = i % 100 < 32 ? -INFINITY
                                                                 : (i % 100 < 64   ? -300.0F
                                                                    : i % 100 < 96 ? 80.0F
                                                                                   : -INFINITY);
  given.inputs = {Tensor(), Tensor(), Tensor(), mask};
  compare_all_kernels(
      [&](GraphBuilder& b) -> std::vector<ValueId> {
        return {b.add("Attention", {f32_input(b, "q", shape), f32_input(b, "k", {1, 1, 100, 16}),
                                    f32_input(b, "v", {1, 1, 100, 16}), f32_input(b, "mask", {20, 100})})};
      },
      given);
}

// What neither cuDNN nor our own kernel takes runs on the host, and says why.
TEST_P(AttentionOnGpu, WhatItRefusesIsNamedWithTheReason) {
  const HeadsCase plain{{1, 2, 8, 16}, {1, 2, 8, 16}, {1, 2, 8, 16}};
  HeadsCase causal = plain;
  causal.attributes.set("is_causal", int64_t{1});
  const HeadsCase odd{{1, 2, 8, 20}, {1, 2, 8, 20}, {1, 2, 8, 20}};
  const auto of = [&](DType dtype, const HeadsCase& c) {
    return implementation(
        make_graph([&](GraphBuilder& b) -> std::vector<ValueId> { return {attention(b, dtype, c)}; }));
  };
  EXPECT_THAT(of(DType::kF16, plain), HasSubstr("cuDNN attention, engine"));
  EXPECT_EQ(of(DType::kF32, plain), "hone attention (CUDA)");
  EXPECT_THAT(of(DType::kF16, causal), HasSubstr("cuDNN attention, engine"));
  EXPECT_EQ(of(DType::kF16, odd), "hone attention (CUDA)");
  const HeadsCase wide{{1, 2, 8, 260}, {1, 2, 8, 260}, {1, 2, 8, 260}};
  EXPECT_THAT(of(DType::kF16, wide), HasSubstr("a multiple of 8 columns, at most 256, and not 260"));
  EXPECT_THAT(of(DType::kF32, wide),
              HasSubstr("reference, off the GPU: cuDNN's attention is of f16 and bf16"));
}

// The pattern becomes one operator where that has a kernel.
TEST_P(AttentionOnGpu, IsRecognisedWhereItHasAKernel) {
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    const graph::Graph pattern = make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
      const ValueId q = input_of(b, "q", dtype, {1, 2, 9, 16}), k = input_of(b, "k", dtype, {1, 2, 9, 16}),
                    v = input_of(b, "v", dtype, {1, 2, 9, 16});
      const ValueId scores = b.add("MatMul", {q, b.add("Transpose", {k}, {{"perm", Ints{0, 1, 3, 2}}})});
      return {b.add("MatMul", {b.add("Softmax", {scores}, {{"axis", int64_t{-1}}}), v})};
    });
    const auto optimised = lab::optimise(pattern, *provider_, {});
    ASSERT_TRUE(optimised.ok()) << optimised.error().message;
    int attentions = 0;
    for (const graph::Node& node : optimised->nodes()) {
      attentions += node.op == "Attention" ? 1 : 0;
      EXPECT_TRUE(provider_->runs(*optimised, node)) << node.op;
    }
    EXPECT_EQ(attentions, 1);
    compare_all_kernels(*optimised, options());
  }
}

}  // namespace
}  // namespace hone::backends
