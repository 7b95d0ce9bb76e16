#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ops/infer_test.h"

namespace hone::graph {
namespace {

using testing::HasSubstr;

const TensorType kRate = f32({});
const TensorType kUpdates = tensor_type(DType::kI64, Dims{});

std::string optimizer_error(const std::string& op, const std::vector<TestInput>& inputs,
                            Attributes attributes = {}, std::size_t outputs = 1) {
  auto texts = infer_text(op, inputs, std::move(attributes), outputs);
  return texts.ok() ? "" : texts.error().message;
}

TEST(OptimizerTypes, GiveTheNextParametersAndMomentsInTheirOwnTypes) {
  const TensorType half = tensor_type(DType::kBF16, Dims{4, kBatch});
  const TensorType wide = f32({4, kBatch});
  const std::vector<TestInput> inputs = {
      kRate, kUpdates, TestInput::none(), f32({3}), half, f32({3}), half, f32({3}), wide, f32({3}), wide};
  const auto types = infer_text("hone.AdamW", inputs, {}, 6);
  ASSERT_TRUE(types.ok()) << types.error().message;
  EXPECT_EQ(*types,
            (std::vector<std::string>{"f32[3]", "bf16[4,N]", "f32[3]", "f32[4,N]", "f32[3]", "f32[4,N]"}));
}

TEST(OptimizerTypes, SgdHasVelocitiesOnlyWithMomentum) {
  const std::vector<TestInput> plain = {kRate, kRate, f32({3}), f32({3})};
  EXPECT_EQ(optimizer_error("hone.Sgd", plain), "");
  EXPECT_THAT(
      optimizer_error("hone.Sgd", plain, {{"momentum", 0.9F}}),
      HasSubstr("as many parameters as gradients and as each of its moments, but there are 2 tensors"));
  EXPECT_THAT(optimizer_error("hone.Sgd", plain, {{"nesterov", int64_t{1}}}), HasSubstr("needs a momentum"));
  EXPECT_THAT(optimizer_error("hone.Sgd", plain, {}, 2),
              HasSubstr("it has 2 outputs for 1 parameters, must be 1"));
}

TEST(OptimizerTypes, ParametersThatAreRoundedAreBf16) {
  const TensorType half = tensor_type(DType::kBF16, Dims{3});
  const Attributes numbers = {{"numbers", Ints{7}}, {"seed", int64_t{1}}};
  const auto sgd = [&](const TensorType& x, const Attributes& attributes) {
    return optimizer_error("hone.Sgd", {kRate, TestInput::none(), kUpdates, x, f32({3})}, attributes);
  };
  EXPECT_EQ(sgd(half, numbers), "");
  EXPECT_THAT(sgd(f32({3}), numbers), HasSubstr("rounded stochastically is f32, must be bf16"));
  EXPECT_THAT(sgd(half, {{"numbers", Ints{7, 8}}}), HasSubstr("it has 2 numbers for 1 parameters"));
  EXPECT_THAT(sgd(half, {{"numbers", Ints{-1}}}), HasSubstr("-1 is no number of a parameter"));
  EXPECT_THAT(optimizer_error("hone.Sgd", {kRate, TestInput::none(), kRate, half, f32({3})}, numbers),
              HasSubstr("the number of updates is f32"));
  const std::vector<TestInput> adam = {kRate,    kUpdates, TestInput::none(), half,
                                       f32({3}), f32({3}), f32({3})};
  const auto types = infer_text("hone.AdamW", adam, numbers, 3);
  ASSERT_TRUE(types.ok()) << types.error().message;
  EXPECT_EQ(*types, (std::vector<std::string>{"bf16[3]", "f32[3]", "f32[3]"}));
}

TEST(OptimizerTypes, RefuseWhatDoesNotFitTogether) {
  EXPECT_THAT(optimizer_error("hone.Sgd", {f32({1}), TestInput::none(), f32({3}), f32({3})}),
              HasSubstr("the learning rate is f32[1], must be a scalar"));
  EXPECT_THAT(optimizer_error("hone.Sgd", {kRate, TestInput::none(), f32({3}), f32({4})}),
              HasSubstr("the gradient in input 3"));
  EXPECT_THAT(optimizer_error("hone.Sgd", {kRate, TestInput::none(), f32({3}), kUpdates}),
              HasSubstr("floating-point"));
  const std::vector<TestInput> adam = {kRate,    kRate,    TestInput::none(), f32({3}),
                                       f32({3}), f32({3}), f32({3})};
  EXPECT_THAT(optimizer_error("hone.AdamW", adam, {}, 3), HasSubstr("the number of updates is f32"));
  EXPECT_THAT(optimizer_error("hone.AdamW", adam, {{"beta1", 1.5F}}, 3), HasSubstr("beta1 is 1.5"));
}

TEST(OptimizerCost, CountsEveryTensorOnce) {
  // Seven tensors of 400 bytes and two scalars: 28 bytes an element.
  GraphBuilder b("g");
  const TensorType type = f32({100});
  std::vector<ValueId> inputs = {b.input("rate", kRate), b.input("t", kUpdates), kNoValue};
  for (const char* name : {"x", "g", "m", "v"}) inputs.push_back(b.input(name, type));
  for (ValueId output : b.add_many("hone.AdamW", inputs, 3)) b.output(output);
  const Graph graph = *std::move(b).finish();
  const Cost cost = node_cost(graph, graph.nodes()[0]);
  EXPECT_DOUBLE_EQ(cost.bytes(), 2800 + 4 + 8);
  EXPECT_DOUBLE_EQ(cost.flops, 1400);
  EXPECT_DOUBLE_EQ(cost_of("hone.Sgd", {kRate, kRate, type, type}).flops, 300);
}

TEST(SquareSum, IsAWideNumber) {
  EXPECT_EQ(first_type("hone.SquareSum", {f32({3}), f32({kBatch, 4}), f32({})}), "f32[]");
  const TensorType half = tensor_type(DType::kBF16, Dims{4});
  EXPECT_EQ(first_type("hone.SquareSum", {half}), "f32[]");
  EXPECT_EQ(first_type("hone.SquareSum", {f32({3}), half}), "f32[]");
  EXPECT_TRUE(first_type("hone.SquareSum", {kUpdates}).starts_with("error"));
  EXPECT_DOUBLE_EQ(cost_of("hone.SquareSum", {f32({100}), f32({5})}).flops, 210);
}

TEST(Recompute, IsItsFirstInputAndCostsNothing) {
  EXPECT_EQ(first_type("hone.Recompute", {f32({kBatch, 3}), f32({7})}), "f32[N,3]");
  const Cost cost = cost_of("hone.Recompute", {f32({100}), f32({7})});
  EXPECT_EQ(cost.bytes(), 0);
  EXPECT_EQ(cost.flops, 0);
}

TEST(OptimizerTypes, OnlyTheScaleMayBeAbsent) {
  const std::vector<TestInput> no_rate = {TestInput::none(), TestInput::none(), f32({3}), f32({3})};
  EXPECT_THAT(optimizer_error("hone.Sgd", no_rate), HasSubstr("input 0 is required, but absent"));
  const std::vector<TestInput> no_gradient = {kRate, TestInput::none(), f32({3}), TestInput::none()};
  EXPECT_THAT(optimizer_error("hone.Sgd", no_gradient), HasSubstr("input 3 is required, but absent"));
  const std::vector<TestInput> no_count = {kRate,    TestInput::none(), TestInput::none(), f32({3}),
                                           f32({3}), f32({3}),          f32({3})};
  EXPECT_THAT(optimizer_error("hone.AdamW", no_count, {}, 3), HasSubstr("input 1 is required, but absent"));
}

// 1 - beta^t is a divisor.
TEST(OptimizerTypes, AMomentThatNeverMovesIsRefused) {
  const std::vector<TestInput> inputs = {kRate,   kUpdates, TestInput::none(), f32({}), f32({}),
                                         f32({}), f32({})};
  EXPECT_EQ(optimizer_error("hone.AdamW", inputs, {{"beta1", 0.0F}}, 3), "");
  EXPECT_THAT(optimizer_error("hone.AdamW", inputs, {{"beta1", 1.0F}}, 3),
              HasSubstr("beta1 is 1, must be in [0, 1)"));
  EXPECT_THAT(optimizer_error("hone.AdamW", inputs, {{"beta2", 1.0F}}, 3),
              HasSubstr("beta2 is 1, must be in [0, 1)"));
}

}  // namespace
}  // namespace hone::graph
