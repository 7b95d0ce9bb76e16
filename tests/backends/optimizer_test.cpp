// Optimizers on the CPU against the reference.
#include "tests/backends/compare.h"
#include <gtest/gtest.h>

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;

// Sizes around the vector's and the grain's; tensors that a thread's range cuts in the middle, and an empty
// one.
const std::vector<Shape> kTensors = {{3}, {1, 16}, {0, 4}, {257, 65}, {1}, {64, 1024}};

// The groups of tensors behind the scalars.
void append_groups(GraphBuilder& b, std::vector<ValueId>& inputs, int groups) {
  for (int group = 0; group < groups; ++group) {
    for (std::size_t i = 0; i < kTensors.size(); ++i)
      inputs.push_back(f32_input(b, "x" + std::to_string(group) + "_" + std::to_string(i), kTensors[i]));
  }
}

TEST(Optimizers, SumsOfSquaresAgree) {
  compare_all_kernels([](GraphBuilder& b) -> std::vector<ValueId> {
    std::vector<ValueId> inputs;
    append_groups(b, inputs, 1);
    return {b.add("hone.SquareSum", inputs)};
  });
}

TEST(Optimizers, SgdAgrees) {
  for (const float momentum : {0.0F, 0.9F}) {
    for (const bool nesterov : {false, true}) {
      if (nesterov && momentum == 0) continue;
      for (const bool scaled : {false, true}) {
        compare_all_kernels([&](GraphBuilder& b) {
          std::vector<ValueId> inputs = {scalar(b, 0.1F), scaled ? scalar(b, 0.5F) : kNoValue};
          append_groups(b, inputs, momentum != 0 ? 3 : 2);
          return b.add_many("hone.Sgd", inputs, kTensors.size() * (momentum != 0 ? 2 : 1),
                            {{"momentum", momentum},
                             {"nesterov", int64_t{nesterov ? 1 : 0}},
                             {"weight_decay", scaled ? 0.01F : 0.0F}});
        });
      }
    }
  }
}

// Parameters of bf16, rounded stochastically: kernels draw the reference's bits, wherever threads cut the tensors.
TEST(Optimizers, WeightsOfBf16Agree) {
  CompareOptions options;
  options.low = 0;
  options.tolerance = 1e-4;  // an element in tens of thousands goes the other way
  const Attributes rounding = {{"seed", int64_t{-5'000'000'000}},
                               {"numbers", Ints{3, 0, 9, 4, (1 << 23) - 1, 8}},
                               {"weight_decay", 0.1F}};
  const auto groups = [](GraphBuilder& b, std::vector<ValueId> inputs, int count) {
    for (std::size_t i = 0; i < kTensors.size(); ++i)
      inputs.push_back(input_of(b, "w" + std::to_string(i), DType::kBF16, kTensors[i]));
    append_groups(b, inputs, count - 1);
    return inputs;
  };
  for (const int64_t updates : {int64_t{0}, int64_t{77}, int64_t{1} << 33}) {
    const bool scaled = updates != 0;
    compare_all_kernels(
        [&](GraphBuilder& b) {
          const ValueId count = b.constant("updates", Tensor::scalar_i64(updates));
          Attributes attributes = rounding;
          if (scaled) attributes.set("momentum", 0.9F);
          const ValueId scale = scaled ? scalar(b, 0.5F) : kNoValue;
          return b.add_many("hone.Sgd", groups(b, {scalar(b, 0.01F), scale, count}, scaled ? 3 : 2),
                            kTensors.size() * (scaled ? 2 : 1), attributes);
        },
        options);
    compare_all_kernels(
        [&](GraphBuilder& b) {
          const ValueId count = b.constant("updates", Tensor::scalar_i64(updates));
          return b.add_many("hone.AdamW",
                            groups(b, {scalar(b, 0.01F), count, scaled ? scalar(b, 0.5F) : kNoValue}, 4),
                            kTensors.size() * 3, rounding);
        },
        options);
  }
}

TEST(Optimizers, AdamWAgrees) {
  CompareOptions options;
  options.low = 0;  // second moments are sums of squares
  for (const int64_t updates : {int64_t{0}, int64_t{1}, int64_t{100000}}) {
    for (const bool scaled : {false, true}) {
      compare_all_kernels(
          [&](GraphBuilder& b) {
            std::vector<ValueId> inputs = {scalar(b, 0.1F),
                                           b.constant("updates", Tensor::scalar_i64(updates)),
                                           scaled ? scalar(b, 0.5F) : kNoValue};
            append_groups(b, inputs, 4);
            return b.add_many("hone.AdamW", inputs, kTensors.size() * 3, {{"epsilon", 1e-4F}});
          },
          options);
    }
  }
}

}  // namespace
}  // namespace hone::backends
