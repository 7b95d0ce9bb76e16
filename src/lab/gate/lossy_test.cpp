#include "lab/gate/lossy.h"

#include <vector>

#include <gtest/gtest.h>

namespace hone::lab {
namespace {

std::vector<Tensor> outputs(float first) { return {Tensor::f32({2}, std::vector<float>{first, 1.0F})}; }

TaskMetric first_element(double max_loss) {
  return {"accuracy", [](std::span<const Tensor> tensors) -> Result<double> { return tensors[0].at(0); },
          max_loss};
}

NumericReport passed() {
  NumericReport numbers;
  numbers.passed = true;
  numbers.detail = "rel. L2 1e-02";
  return numbers;
}

TEST(TaskMetric, KeepsWhatIsAsGoodAsItMayBe) {
  const NumericReport judged = judge_by_metric(passed(), first_element(0.1), outputs(0.75F), outputs(0.8F));
  EXPECT_TRUE(judged.passed);
  EXPECT_EQ(judged.detail, "rel. L2 1e-02, accuracy 0.75 instead of 0.8");
}

TEST(TaskMetric, RefusesWhatIsWorseEvenIfTheNumbersAreNear) {
  const NumericReport judged = judge_by_metric(passed(), first_element(0.01), outputs(0.75F), outputs(0.8F));
  EXPECT_FALSE(judged.passed);
  EXPECT_EQ(judged.detail, "accuracy 0.75 instead of 0.8, more than 0.01 worse");
}

TEST(TaskMetric, LowerMayBeBetter) {
  TaskMetric perplexity = first_element(0);
  perplexity.higher_is_better = false;
  EXPECT_TRUE(judge_by_metric(passed(), perplexity, outputs(0.75F), outputs(0.8F)).passed);
  EXPECT_FALSE(judge_by_metric(passed(), perplexity, outputs(0.85F), outputs(0.8F)).passed);
}

TEST(TaskMetric, RefusesWhatItCannotMeasure) {
  TaskMetric broken = first_element(1);
  broken.measure = [](std::span<const Tensor>) -> Result<double> { return invalid("no labels"); };
  const NumericReport judged = judge_by_metric(passed(), broken, outputs(1), outputs(1));
  EXPECT_FALSE(judged.passed);
  EXPECT_NE(judged.detail.find("no labels"), std::string::npos);
}

}  // namespace
}  // namespace hone::lab
