// Losses: their values against formulas worked out here, and their gradients against finite differences; both
// also where scores are so large that exponentials overflow.
#include "graph/losses.h"

#include <cmath>
#include <limits>
#include <optional>

#include "tests/gradients/nodes.h"
#include <gtest/gtest.h>

#include "graph/differentiate.h"
#include "runtime/interpreter.h"

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::LossReduction;
using graph::ValueId;

constexpr LossReduction kReductions[] = {LossReduction::kMean, LossReduction::kSum, LossReduction::kNone};

// The loss of these scores and its gradient by them.
struct Evaluated {
  std::vector<double> loss, gradient;
};

Evaluated evaluated(const Shape& shape, const std::vector<double>& scores, const Build& build) {
  GraphBuilder b("loss");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF64, shape));
  const ValueId y = build(b, {x});
  const auto gradient = graph::differentiate(b, y, std::vector{x});
  if (!gradient.ok()) throw std::logic_error(gradient.error().message);
  b.output(y);
  b.output((*gradient)[0]);
  const auto graph = std::move(b).finish();
  const auto outputs =
      runtime::interpret(*graph, std::vector{Tensor::of<double>(DType::kF64, shape, scores)});
  if (!outputs.ok()) throw std::logic_error(outputs.error().message);
  return {(*outputs)[0].to_doubles(), (*outputs)[1].to_doubles()};
}

double log_softmax(const std::vector<double>& x, std::size_t c) {
  const double largest = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double value : x) sum += std::exp(value - largest);
  return x[c] - largest - std::log(sum);
}

TEST(CrossEntropy, HasTheGradientOfEveryReductionWeightAndSmoothing) {
  for (const LossReduction reduction : kReductions)
    for (const std::optional<int64_t> ignored : {std::optional<int64_t>{}, std::optional<int64_t>{-100}})
      for (const bool weighted : {false, true})
        for (const double smoothing : {0.0, 0.3}) {
          const Build loss = [=](GraphBuilder& b, const Values& x) {
            graph::CrossEntropyOptions options{
                .ignore_index = ignored, .label_smoothing = smoothing, .reduction = reduction};
            if (weighted) options.class_weights = doubles(b, {3}, {0.5, 2, 1.25});
            const ValueId targets = classes(b, {4}, {2, 0, ignored ? -100 : 1, 2});
            return made(graph::cross_entropy_loss(b, x[0], targets, options));
          };
          // How many classes there are must be known to be smoothed over.
          check_gradient({{4, 3}}, loss, {.known_extents_only = smoothing > 0});
        }
}

TEST(CrossEntropy, TakesImagesOfClasses) {
  check_gradient({{2, 3, 2, 2}}, [](GraphBuilder& b, const Values& x) {
    const ValueId targets = classes(b, {2, 2, 2}, {0, 1, 2, 2, 255, 1, 0, 255});
    return made(graph::cross_entropy_loss(b, x[0], targets, {.ignore_index = 255}));
  });
}

TEST(CrossEntropy, IsTheFormulaOfSmoothedLabelsWithWeights) {
  const std::vector<double> scores{1, -2, 0.5, 3, 0, -1}, weights{0.5, 2, 1.25};
  const std::size_t target[] = {2, 0};
  const double smoothing = 0.2;
  double sum = 0, total = 0;
  for (std::size_t n = 0; n < 2; ++n) {
    const std::vector<double> row(scores.begin() + static_cast<int64_t>(3 * n),
                                  scores.begin() + static_cast<int64_t>(3 * n + 3));
    sum -= (1 - smoothing) * weights[target[n]] * log_softmax(row, target[n]);
    for (std::size_t c = 0; c < 3; ++c) sum -= smoothing / 3 * weights[c] * log_softmax(row, c);
    total += weights[target[n]];
  }
  const auto got = evaluated({2, 3}, scores, [&](GraphBuilder& b, const Values& x) {
    return made(
        graph::cross_entropy_loss(b, x[0], classes(b, {2}, {2, 0}),
                                  {.class_weights = doubles(b, {3}, weights), .label_smoothing = smoothing}));
  });
  EXPECT_NEAR(got.loss[0], sum / total, 1e-12);
}

TEST(CrossEntropy, IsRightAtScoresWhoseExponentialsOverflow) {
  const auto got = evaluated({2, 2}, {1e4, -1e4, -1e4, 1e4}, [](GraphBuilder& b, const Values& x) {
    return made(
        graph::cross_entropy_loss(b, x[0], classes(b, {2}, {0, 0}), {.reduction = LossReduction::kNone}));
  });
  EXPECT_EQ(got.loss, (std::vector<double>{0, 2e4}));
  EXPECT_EQ(got.gradient, (std::vector<double>{0, 0, -1, 1}));
}

TEST(CrossEntropy, RefusesScoresAndClassesOfOtherTypes) {
  GraphBuilder b("bad");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{2, 3}));
  const ValueId n = b.input("n", graph::tensor_type(DType::kI64, Shape{2, 3}));
  EXPECT_EQ(graph::cross_entropy_loss(b, n, n).error().message,
            "cross_entropy: scores are i64[2,3], must be floating-point");
  EXPECT_EQ(graph::cross_entropy_loss(b, x, x).error().message,
            "cross_entropy: classes are f32[2,3], must be integers");
  EXPECT_FALSE(graph::cross_entropy_loss(b, x, n).ok());  // one class a sample is needed
  EXPECT_FALSE(graph::cross_entropy_loss(b, x, n, {.label_smoothing = 1.5}).ok());
}

TEST(BinaryCrossEntropy, HasItsGradientWithAndWithoutWeights) {
  for (const LossReduction reduction : kReductions)
    for (const bool weighted : {false, true}) {
      std::vector<Shape> shapes{{2, 3}, {2, 3}};  // of logits and targets, which may be trained, too
      if (weighted) shapes.push_back({3});
      check_gradient(shapes, [=](GraphBuilder& b, const Values& x) {
        graph::BinaryCrossEntropyOptions options{.reduction = reduction};
        if (weighted) options.positive_weight = x[2];
        return made(graph::binary_cross_entropy_loss(b, x[0], x[1], options));
      });
    }
}

TEST(BinaryCrossEntropy, IsRightAtLogitsWhoseExponentialsOverflow) {
  const std::vector<double> logits{1e4, -1e4, 1e4, -1e4};
  for (const bool weighted : {false, true}) {
    const auto got = evaluated({4}, logits, [=](GraphBuilder& b, const Values& x) {
      graph::BinaryCrossEntropyOptions options{.reduction = LossReduction::kNone};
      if (weighted) options.positive_weight = doubles(b, {1}, {2});
      return made(graph::binary_cross_entropy_loss(b, x[0], classes(b, {4}, {1, 1, 0, 0}), options));
    });
    const double w = weighted ? 2 : 1;
    EXPECT_EQ(got.loss, (std::vector<double>{0, w * 1e4, 1e4, 0}));
    EXPECT_EQ(got.gradient, (std::vector<double>{0, -w, 1, 0}));
  }
}

TEST(Dice, HasItsGradientInEveryForm) {
  using enum graph::Probabilities;
  for (const auto probabilities : {kGiven, kSigmoid, kSoftmax})
    for (const bool over_batch : {false, true})
      for (const bool background : {false, true}) {
        const graph::DiceOptions options{.probabilities = probabilities,
                                         .smooth = 0.5,
                                         .squared = over_batch,
                                         .over_batch = over_batch,
                                         .skips_background = background};
        const Build loss = [=](GraphBuilder& b, const Values& x) {
          const ValueId targets = classes(b, {2, 2, 2}, {0, 1, 2, 2, 1, 1, 0, 0});
          return made(graph::dice_loss(b, x[0], targets, options));
        };
        check_gradient({{2, 3, 2, 2}}, loss, {.low = 0.1, .high = 0.9, .known_extents_only = true});
      }
}

TEST(Dice, IsTheFormulaOfEachClass) {
  const std::vector<double> p{0.9, 0.2, 0.6, 0.1}, t{1, 0, 1, 1};
  const double first = 1 - (2 * 0.9 + 1) / (1.1 + 1 + 1), second = 1 - (2 * 0.7 + 1) / (0.7 + 2 + 1);
  const auto got = evaluated({1, 2, 2}, p, [&](GraphBuilder& b, const Values& x) {
    return made(
        graph::dice_loss(b, x[0], doubles(b, {1, 2, 2}, t), {.probabilities = graph::Probabilities::kGiven}));
  });
  EXPECT_NEAR(got.loss[0], (first + second) / 2, 1e-12);
}

TEST(Dice, CostsNothingWhereAClassIsAbsentAndNotPredicted) {
  const auto got = evaluated({1, 1, 3}, {-1e4, -1e4, -1e4}, [](GraphBuilder& b, const Values& x) {
    return made(graph::dice_loss(b, x[0], classes(b, {1, 1, 3}, {0, 0, 0})));
  });
  EXPECT_EQ(got.loss[0], 0);
  EXPECT_EQ(got.gradient, (std::vector<double>{0, 0, 0}));
}

TEST(RegressionLosses, HaveTheirGradients) {
  for (const LossReduction reduction : kReductions) {
    const auto against = [&](auto loss) {
      check_gradient({{2, 3}, {2, 3}},
                     [=](GraphBuilder& b, const Values& x) { return made(loss(b, x[0], x[1], reduction)); });
    };
    against(graph::squared_error_loss);
    against(graph::absolute_error_loss);
    against([](GraphBuilder& b, ValueId y, ValueId t, LossReduction r) {
      return graph::huber_loss(b, y, t, 0.7, r);
    });
  }
}

TEST(RegressionLosses, HubersIsQuadraticThenLinear) {
  const auto got = evaluated({3}, {0.5, -3, 2}, [](GraphBuilder& b, const Values& x) {
    return made(graph::huber_loss(b, x[0], classes(b, {3}, {0, 0, 0}), 2, LossReduction::kNone));
  });
  EXPECT_EQ(got.loss, (std::vector<double>{0.125, 4, 2}));
  EXPECT_EQ(got.gradient, (std::vector<double>{0.5, -2, 2}));
}

TEST(RegressionLosses, RefuseShapesThatDiffer) {
  GraphBuilder b("bad");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{2, 3}));
  const ValueId t = b.input("t", graph::tensor_type(DType::kF32, Shape{3}));
  EXPECT_EQ(graph::squared_error_loss(b, x, t).error().message,
            "squared_error: f32[2,3] and f32[3] differ in shape");
}

TEST(Distillation, HasTheStudentsGradient) {
  for (const double temperature : {1.0, 3.0})
    for (const LossReduction reduction : kReductions)
      check_gradient({{2, 3, 2}, {2, 3, 2}}, [=](GraphBuilder& b, const Values& x) {
        return made(
            graph::distillation_loss(b, x[0], x[1], {.temperature = temperature, .reduction = reduction}));
      });
}

TEST(Distillation, IgnoresClassesThatTheTeacherMasks) {
  const double masked = -std::numeric_limits<double>::infinity();
  const auto got = evaluated({1, 3}, {1, 1e4, 1}, [=](GraphBuilder& b, const Values& x) {
    return made(graph::distillation_loss(b, x[0], doubles(b, {1, 3}, {2, masked, 2})));
  });
  EXPECT_NEAR(got.loss[0], 1e4 - 1 - std::log(2), 1e-9);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got.gradient[i], i == 1 ? 1 : -0.5, 1e-12);
}

}  // namespace
}  // namespace hone::gradients
