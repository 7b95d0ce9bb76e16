// What stays in f32 is chosen by what is measured, on models made to need it.
#include "lab/precision/choose_precision.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "lab/precision/sensitivity.h"
#include "passes/allow_tf32.h"
#include "passes/lower_precision.h"
#include "runtime/interpreter.h"

namespace hone::lab {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

// Numbers between -scale and scale, always the same.
Tensor numbers(Shape shape, float scale, uint32_t seed = 1) {
  Tensor tensor(DType::kF32, std::move(shape));
  uint32_t state = seed * 2654435761U + 1;
  for (float& x : tensor.as<float>()) {
    state = state * 1664525U + 1013904223U;
    x = scale * (static_cast<float>(state >> 8) / 8388608.0F - 1);
  }
  return tensor;
}

struct Model {
  graph::Graph graph;
  std::vector<Tensor> inputs;
};

passes::PassContext target_of_half() {
  passes::PassContext context;
  context.target.takes.products = {DType::kF32, DType::kF16, DType::kBF16};
  context.target.takes.tf32_products = true;
  return context;
}

PrecisionSearch search_of(const Model& model, double limit, passes::PassFunction pass) {
  PrecisionSearch search;
  search.lower = [&model, pass](const KeptInF32& keep) -> Result<LoweredGraph> {
    passes::PassContext context = target_of_half();
    context.keep_f32 = keep;
    HONE_ASSIGN(passes::PassOutcome outcome, pass(model.graph, context));
    return LoweredGraph{std::move(outcome.graph), std::move(outcome.types)};
  };
  const std::vector<Tensor> reference = *runtime::interpret(model.graph, model.inputs);
  search.judge = [reference, limit](std::span<const Tensor> outputs) {
    std::vector<ComparedOutput> compared;
    for (std::size_t i = 0; i < outputs.size(); ++i) compared.push_back({"y", outputs[i], reference[i]});
    return compare_outputs(compared, {.numerics = Numerics::kLossy, .lossy_rel_l2 = limit, .own = {}});
  };
  search.more_time = [] { return true; };
  return search;
}

PrecisionDecision decide_for(const Model& model, double limit = 0.01,
                             passes::PassFunction pass = passes::lower_to_f16) {
  auto decision = choose_precision(model.graph, model.inputs, search_of(model, limit, pass));
  if (!decision.ok()) throw std::logic_error(decision.error().message);
  return *std::move(decision);
}

const analyze::OperatorPrecision& row_of(const PrecisionDecision& decision, std::string_view node) {
  const auto row = std::find_if(decision.rows.begin(), decision.rows.end(),
                                [&](const analyze::OperatorPrecision& each) { return each.node == node; });
  if (row == decision.rows.end()) throw std::logic_error("no row for " + std::string(node));
  return *row;
}

// `size`: of the inputs, which the first product makes some hundred times larger.
Model two_products(float size, float scale_back) {
  GraphBuilder b("two_products");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{8, 32}));
  const ValueId first = b.add("MatMul", {x, b.constant("w1", numbers({32, 32}, 100, 2))}, {}, "large");
  const ValueId back = b.add("Mul", {first, b.constant("scale", numbers({32}, scale_back, 3))}, {}, "scaled");
  const ValueId relu = b.add("Relu", {back}, {}, "relu");
  b.output(b.add("MatMul", {relu, b.constant("w2", numbers({32, 4}, 1, 4))}, {}, "small"));
  Model model;
  model.graph = *std::move(b).finish();
  model.inputs = {numbers({8, 32}, size)};
  return model;
}

TEST(ChoosePrecision, LeavesAModelThatFitsNarrowAndMeasuresEachOperator) {
  const Model model = two_products(1, 1e-2F);
  const PrecisionDecision decision = decide_for(model);
  EXPECT_TRUE(decision.keep_f32.empty());
  ASSERT_EQ(decision.rows.size(), 4U);
  for (const analyze::OperatorPrecision& row : decision.rows) {
    EXPECT_FALSE(row.kept_f32) << row.node;
    EXPECT_EQ(row.type, "f16");
    ASSERT_TRUE(row.rel_err && row.carried_rel_err && row.largest) << row.node;
    EXPECT_GT(*row.rel_err, 1e-5) << row.node;
    EXPECT_LT(*row.rel_err, 2e-3) << row.node;
    EXPECT_LT(*row.carried_rel_err, 4e-3) << row.node;
  }
  EXPECT_TRUE(decision.how.starts_with("1 round; interpreted, ")) << decision.how;
}

// What TensorRT's users met (TensorRT#4780): activations beyond f16's largest number, and nobody told.
TEST(ChoosePrecision, KeepsActivationsBeyondTheRangeInF32AndSaysSo) {
  const Model model = two_products(1e4F, 1e-6F);
  const PrecisionDecision decision = decide_for(model);
  EXPECT_TRUE(row_of(decision, "large").kept_f32);
  EXPECT_NE(row_of(decision, "large").why.find("beyond f16's largest, 65504"), std::string::npos)
      << row_of(decision, "large").why;
  EXPECT_TRUE(row_of(decision, "small").carried_rel_err.has_value());
  EXPECT_FALSE(row_of(decision, "small").kept_f32);
  EXPECT_LT(*row_of(decision, "small").carried_rel_err, 0.01);
  const PrecisionDecision bf16 = decide_for(model, 0.05, passes::lower_to_bf16);
  EXPECT_TRUE(bf16.keep_f32.empty()) << "bf16 reaches as far as f32";
}

TEST(ChoosePrecision, LeavesRoomForOtherInputs) {
  const Model model = two_products(60, 1e-4F);
  const PrecisionDecision decision = decide_for(model);
  EXPECT_NE(row_of(decision, "large").why.find("within a factor of 4 of f16's largest"), std::string::npos)
      << row_of(decision, "large").why;
}

// The interpreter multiplies f32; what matrix units would make of it is measured beside it.
TEST(ChoosePrecision, MeasuresWhatTf32RoundsAway) {
  const PrecisionDecision decision = decide_for(two_products(1e4F, 1e-6F), 0.005, passes::allow_tf32);
  EXPECT_TRUE(decision.keep_f32.empty()) << "its range is that of f32";
  ASSERT_EQ(decision.rows.size(), 2U);
  for (const analyze::OperatorPrecision& row : decision.rows) {
    EXPECT_EQ(row.type, "tf32");
    ASSERT_TRUE(row.rel_err && row.carried_rel_err) << row.node;
    EXPECT_GT(*row.rel_err, 5e-5) << row.node;
    EXPECT_LT(*row.rel_err, 1e-3) << row.node;
    EXPECT_LT(*row.carried_rel_err, 2e-3) << row.node;
  }
  EXPECT_GT(*row_of(decision, "small").carried_rel_err, *row_of(decision, "small").rel_err / 2);
}

TEST(ChoosePrecision, KeepsInF32WhatTf32IsTooCoarseFor) {
  const PrecisionDecision decision = decide_for(two_products(1, 1e-2F), 1e-5, passes::allow_tf32);
  EXPECT_FALSE(decision.keep_f32.empty());
  for (const analyze::OperatorPrecision& row : decision.rows)
    EXPECT_EQ(row.type, row.kept_f32 ? "f32" : "tf32") << row.node;
}

// Differences of large logits are what softmax sees; f16 stores those around 1,000 in steps of a half.
TEST(ChoosePrecision, KeepsTheSensitiveOperatorAndWhatStoresItsInput) {
  GraphBuilder b("logits");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{8, 64}));
  const ValueId product = b.add("MatMul", {x, b.constant("w", numbers({64, 16}, 1, 2))}, {}, "product");
  const ValueId logits =
      b.add("Add", {product, b.constant("offset", Tensor::scalar_f32(1000))}, {}, "logits");
  const ValueId turned = b.add("Transpose", {logits}, {{"perm", Ints{1, 0}}}, "turned");
  const ValueId softmax = b.add("Softmax", {turned}, {{"axis", int64_t{0}}}, "softmax");
  b.output(b.add("MatMul", {softmax, b.constant("v", numbers({8, 8}, 1, 3))}, {}, "values"));
  Model model;
  model.graph = *std::move(b).finish();
  model.inputs = {numbers({8, 64}, 1)};
  const PrecisionDecision decision = decide_for(model);
  for (const char* name : {"logits", "turned", "softmax"})
    EXPECT_TRUE(row_of(decision, name).kept_f32) << name;
  EXPECT_GT(*row_of(decision, "softmax").rel_err, 0.01);
  EXPECT_EQ(row_of(decision, "turned").why, "'softmax' reads it, which stays in f32");
  EXPECT_FALSE(row_of(decision, "product").kept_f32);
  EXPECT_FALSE(row_of(decision, "values").kept_f32) << row_of(decision, "values").why;
  EXPECT_LT(*row_of(decision, "values").carried_rel_err, 0.01);
  EXPECT_NE(decision.how.find("rounds; interpreted, rel. L2"), std::string::npos) << decision.how;
}

// Rows that are nearly constant: what the normalisation looks at lies below f16's steps.
TEST(ChoosePrecision, KeepsANormalisationOfSmallDifferences) {
  GraphBuilder b("normalisation");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{4, 64}));
  const ValueId product = b.add("MatMul", {x, b.constant("w", numbers({64, 64}, 1e-3F, 2))}, {}, "product");
  const ValueId moved =
      b.add("Add", {product, b.constant("offset", Tensor::f32({1}, std::vector<float>{100}))}, {}, "moved");
  Tensor ones(DType::kF32, {64});
  for (float& one : ones.as<float>()) one = 1;
  const ValueId norm =
      b.add("LayerNormalization", {moved, b.constant("gain", ones)}, {{"epsilon", 1e-12F}}, "norm");
  b.output(b.add("MatMul", {norm, b.constant("v", numbers({64, 8}, 1, 3))}, {}, "last"));
  Model model;
  model.graph = *std::move(b).finish();
  model.inputs = {numbers({4, 64}, 1)};
  const PrecisionDecision decision = decide_for(model);
  EXPECT_TRUE(row_of(decision, "norm").kept_f32);
  EXPECT_TRUE(row_of(decision, "moved").kept_f32) << "what stores its input";
  EXPECT_FALSE(row_of(decision, "last").kept_f32);
}

TEST(ChoosePrecision, EndsAfterItsRounds) {
  const Model model = two_products(1, 1e-2F);
  PrecisionSearch search = search_of(model, 0.01, passes::lower_to_f16);
  int rounds = 0;
  search.judge = [&rounds](std::span<const Tensor>) {
    ++rounds;
    NumericReport never;
    never.detail = "never right";
    return never;
  };
  search.most_rounds = 2;
  const auto decision = choose_precision(model.graph, model.inputs, search);
  ASSERT_TRUE(decision.ok()) << decision.error().message;
  EXPECT_EQ(rounds, 2);
  EXPECT_EQ(decision->how, "2 rounds; interpreted, never right; no round for another");
}

TEST(ChoosePrecision, WhatLeavesTheRangeStaysInF32AlsoWhereThereIsNoTimeForAnotherLook) {
  const Model model = two_products(1e4F, 1e-6F);
  PrecisionSearch search = search_of(model, 0.01, passes::lower_to_f16);
  search.more_time = [] { return false; };
  const auto decision = choose_precision(model.graph, model.inputs, search);
  ASSERT_TRUE(decision.ok()) << decision.error().message;
  EXPECT_TRUE(row_of(*decision, "large").kept_f32);
  EXPECT_FALSE(row_of(*decision, "small").kept_f32);
  EXPECT_FALSE(row_of(*decision, "small").carried_rel_err.has_value()) << "not measured in this model";
  EXPECT_TRUE(decision->how.ends_with("; no time for another")) << decision->how;
}

TEST(ChoosePrecision, IsInterrupted) {
  const Model model = two_products(1, 1e-2F);
  PrecisionSearch search = search_of(model, 0.01, passes::lower_to_f16);
  search.keep_going = [] { return false; };
  const auto decision = choose_precision(model.graph, model.inputs, search);
  ASSERT_FALSE(decision.ok());
  EXPECT_EQ(decision.error().code, ErrorCode::kCancelled);
}

TEST(Sensitivity, TracesTheFirstOperatorWhoseResultsAreNoNumbers) {
  const Model model = two_products(1e4F, 1e-6F);
  const auto lowered = passes::lower_to_f16(model.graph, target_of_half());
  ASSERT_TRUE(lowered.ok());
  const auto found = measure_sensitivity(model.graph, lowered->graph, model.inputs,
                                         {"large", "scaled", "relu", "small"}, {.alone = {"small"}});
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->first_not_finite, "large");
  EXPECT_GT(found->operators.at("large").not_finite, 0);
  EXPECT_TRUE(std::isinf(found->operators.at("large").carried));
  EXPECT_GT(found->operators.at("large").largest, 65504);
  EXPECT_LT(found->operators.at("small").alone, 2e-3) << "on the reference's inputs it is right";
}

TEST(Sensitivity, NeedsTheReferenceOnceWhereItsResultsFit) {
  const Model model = two_products(1, 1e-2F);
  const auto lowered = passes::lower_to_f16(model.graph, target_of_half());
  ASSERT_TRUE(lowered.ok());
  const std::set<std::string, std::less<>> names = {"large", "scaled", "relu", "small"};
  const auto measure = [&](ReferenceResults* kept, std::set<std::string, std::less<>> alone = {}) {
    auto found =
        measure_sensitivity(model.graph, lowered->graph, model.inputs, names, {.alone = alone, .kept = kept});
    if (!found.ok()) throw std::logic_error(found.error().message);
    return *std::move(found);
  };
  const Sensitivity anew = measure(nullptr);
  for (const std::size_t room : {std::size_t{1} << 20, std::size_t{3} * 8 * 32 * sizeof(float)}) {
    ReferenceResults kept{.operators = {}, .bytes = 0, .most_bytes = room};
    measure(&kept, names);
    EXPECT_EQ(kept.operators.size() == names.size(), room >= std::size_t{1} << 20) << room;
    EXPECT_LE(kept.bytes, room);
    const Sensitivity again = measure(&kept);
    for (const std::string& name : names) {
      EXPECT_EQ(again.operators.at(name).carried, anew.operators.at(name).carried) << name << " " << room;
      EXPECT_EQ(again.operators.at(name).largest, anew.operators.at(name).largest) << name << " " << room;
    }
  }
  // What is kept is what is compared with: other numbers show.
  ReferenceResults other{.operators = {}, .bytes = 0, .most_bytes = std::size_t{1} << 20};
  measure(&other);
  for (float& value : other.operators.at("small").results[0].as<float>()) value = 1e6F;
  EXPECT_GT(measure(&other).operators.at("small").carried, 0.9);
}

}  // namespace
}  // namespace hone::lab
