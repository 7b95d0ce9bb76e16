// Cross entropy against the reference kernels.
#include "kernels/cpu/softmax/cross_entropy.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "kernels/ref/ref.h"

namespace hone::kernels {
namespace {

Tensor scores_of(const Shape& shape, float reach) {
  Tensor tensor(DType::kF32, shape);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> draw(-reach, reach);
  for (float& value : tensor.as<float>()) value = draw(random);
  return tensor;
}

void check(int64_t outer, int64_t classes, int64_t inner, bool normalised, bool ignores, bool weighted,
           float reach) {
  for (const auto& [reduction, name] :
       {std::pair{LossReductionKind::kMean, "mean"}, std::pair{LossReductionKind::kSum, "sum"},
        std::pair{LossReductionKind::kNone, "none"}}) {
    const Tensor scores = scores_of({outer, classes, inner}, reach);
    Tensor targets(DType::kI64, {outer, inner});
    for (std::size_t i = 0; i < static_cast<std::size_t>(outer * inner); ++i)
      targets.as<int64_t>()[i] = ignores && i % 3 == 1 ? -100 : static_cast<int64_t>(i * 7919) % classes;
    const Tensor weights = weighted ? scores_of({classes}, 1) : Tensor();
    Attributes attributes{{"reduction", name}};
    if (ignores) attributes.set("ignore_index", int64_t{-100});
    std::vector<Tensor> inputs{scores, targets};
    if (weighted) inputs.push_back(weights);
    const char* op = normalised ? "NegativeLogLikelihoodLoss" : "SoftmaxCrossEntropyLoss";
    const std::size_t outputs = normalised ? 1 : 2;
    const auto wanted = ref::ref_table().find(op)(
        {.op = op, .attributes = attributes, .inputs = inputs, .output_count = outputs});
    ASSERT_TRUE(wanted.ok()) << wanted.error().message;
    CrossEntropyDesc desc{
        .outer = outer, .classes = classes, .inner = inner, .normalised = normalised, .reduction = reduction};
    if (ignores) desc.ignored = -100;
    const auto kernel = CrossEntropy::create(desc);
    ASSERT_TRUE(kernel.ok());
    std::vector<float> loss(static_cast<std::size_t>((*wanted)[0].size()), NAN);
    std::vector<float> logarithms(static_cast<std::size_t>(scores.size()), NAN);
    std::vector<float> scratch(kernel->scratch_bytes() / sizeof(float) + 1, NAN);
    const auto bad = kernel->execute({scores.as<float>().data(), targets.as<int64_t>().data(),
                                      weighted ? weights.as<float>().data() : nullptr, loss.data(),
                                      normalised ? nullptr : logarithms.data(), scratch.data()});
    ASSERT_FALSE(bad.has_value());
    for (std::size_t i = 0; i < loss.size(); ++i) {
      const double exact = (*wanted)[0].at(static_cast<int64_t>(i));
      ASSERT_NEAR(static_cast<double>(loss[i]), exact, 1e-5 * (1 + std::abs(exact))) << name << " " << i;
    }
    for (std::size_t i = 0; !normalised && i < logarithms.size(); ++i) {
      const double exact = (*wanted)[1].at(static_cast<int64_t>(i));
      ASSERT_NEAR(static_cast<double>(logarithms[i]), exact, 1e-5 * (1 + std::abs(exact)));
    }
  }
}

TEST(CrossEntropyKernel, IsTheReferencesInEveryForm) {
  for (const bool normalised : {false, true})
    for (const bool ignores : {false, true})
      for (const bool weighted : {false, true}) {
        check(7, 5, 1, normalised, ignores, weighted, 3);
        check(9, 131, 1, normalised, ignores, weighted, 3);
        check(2, 3, 37, normalised, ignores, weighted, 3);
      }
}

TEST(CrossEntropyKernel, IsRightWhereExponentialsOverflow) {
  check(8, 19, 1, false, false, false, 1e4F);
  check(2, 5, 21, false, false, false, 1e4F);
}

TEST(CrossEntropyKernel, NamesATargetThatIsNoClass) {
  const auto kernel = CrossEntropy::create({.outer = 1, .classes = 3, .inner = 1});
  const float scores[3] = {1, 2, 3};
  float loss = 0, scratch = 0;
  for (const int64_t target : {int64_t{3}, int64_t{-1}})
    EXPECT_EQ(kernel->execute({scores, &target, nullptr, &loss, nullptr, &scratch}), target);
}

}  // namespace
}  // namespace hone::kernels
