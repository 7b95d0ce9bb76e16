// Losses of classification: negative log likelihood, and softmax with cross entropy. Scores are [N, C, d…],
// targets [N, d…].
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "kernels/ref/elements.h"

namespace hone::kernels::ref {
namespace {

using Outputs = Result<std::vector<Tensor>>;

struct Loss {
  std::vector<double> samples;  // weighted, 0 where ignored
  double weight = 0;            // the sum of the weights applied
};

// Minus the log-probability of each sample's target class, times the class's weight.
Result<Loss> likelihood(const RefCall& call, std::span<const double> log_probabilities) {
  const Tensor& scores = call.inputs[0];
  const AxisView view = around_axis(scores.shape(), 1);
  const auto targets = widen<int64_t>(call.inputs[1]);
  const auto weights = call.has(2) ? widen<double>(call.inputs[2])
                                   : std::vector<double>(static_cast<std::size_t>(view.extent), 1.0);
  if (static_cast<int64_t>(weights.size()) != view.extent) {
    return bad_call(call, fmt::format("{} weights for {} classes", weights.size(), view.extent));
  }
  const bool ignores = call.attributes.has("ignore_index");
  const int64_t ignored = call.attributes.integer("ignore_index", 0);
  Loss loss;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (ignores && targets[i] == ignored) {
      loss.samples.push_back(0);
      continue;
    }
    if (targets[i] < 0 || targets[i] >= view.extent) {
      return bad_call(call, fmt::format("target {} is not one of {} classes", targets[i], view.extent));
    }
    const int64_t outer = static_cast<int64_t>(i) / view.inner;
    const int64_t inner = static_cast<int64_t>(i) % view.inner;
    const int64_t at = (outer * view.extent + targets[i]) * view.inner + inner;
    const double weight = weights[static_cast<std::size_t>(targets[i])];
    loss.samples.push_back(-log_probabilities[static_cast<std::size_t>(at)] * weight);
    loss.weight += weight;
  }
  return loss;
}

Result<Tensor> reduced(const RefCall& call, const Loss& loss) {
  const std::string reduction = call.attributes.text("reduction", "mean");
  const DType dtype = call.inputs[0].dtype();
  if (reduction == "none") return narrow(dtype, call.inputs[1].shape(), loss.samples);
  double sum = 0;
  for (double sample : loss.samples) sum += sample;
  if (reduction == "sum") return narrow(dtype, {}, std::vector<double>{sum});
  if (reduction == "mean") return narrow(dtype, {}, std::vector<double>{sum / loss.weight});
  return bad_call(call, fmt::format("reduction '{}' is not mean, sum or none", reduction));
}

Status check_shapes(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& scores = call.inputs[0];
  HONE_CHECK(expect_real(call, scores.dtype()));
  HONE_CHECK(expect_real(call, call.inputs[1].dtype()));
  if (call.has(2)) HONE_CHECK(expect_real(call, call.inputs[2].dtype()));
  Shape wanted = scores.shape();
  if (wanted.size() < 2) return bad_call(call, "scores need a batch and a class axis");
  wanted.erase(wanted.begin() + 1);
  if (call.inputs[1].shape() == wanted) return {};
  return bad_call(call, fmt::format("targets {} do not fit scores {}", shape_text(call.inputs[1].shape()),
                                    shape_text(scores.shape())));
}

Outputs negative_log_likelihood(const RefCall& call) {
  HONE_CHECK(check_shapes(call));
  HONE_ASSIGN(const Loss loss, likelihood(call, widen<double>(call.inputs[0])));
  HONE_ASSIGN(Tensor result, reduced(call, loss));
  return one(std::move(result));
}

std::vector<double> log_probabilities_of(const Tensor& scores) {
  auto values = widen<double>(scores);
  const AxisView view = around_axis(scores.shape(), 1);
  for (int64_t outer = 0; outer < view.outer; ++outer) {
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      auto at = [&](int64_t c) -> double& {
        return values[static_cast<std::size_t>((outer * view.extent + c) * view.inner + inner)];
      };
      double largest = -std::numeric_limits<double>::infinity();
      for (int64_t c = 0; c < view.extent; ++c) largest = std::max(largest, at(c));
      double sum = 0;
      for (int64_t c = 0; c < view.extent; ++c) sum += std::exp(at(c) - largest);
      for (int64_t c = 0; c < view.extent; ++c) at(c) -= largest + std::log(sum);
    }
  }
  return values;
}

Outputs softmax_cross_entropy(const RefCall& call) {
  HONE_CHECK(check_shapes(call));
  const Tensor& scores = call.inputs[0];
  const auto log_probabilities = log_probabilities_of(scores);
  HONE_ASSIGN(const Loss loss, likelihood(call, log_probabilities));
  HONE_ASSIGN(Tensor result, reduced(call, loss));
  auto outputs = one(std::move(result));
  if (call.output_count > 1) outputs.push_back(narrow(scores.dtype(), scores.shape(), log_probabilities));
  return outputs;
}

// (softmax - one-hot) · what the sample counts.
Outputs cross_entropy_gradient(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 3));
  const Tensor& scores = call.inputs[0];
  HONE_CHECK(expect_real(call, scores.dtype()));
  if (scores.rank() < 2) return bad_call(call, "scores need a batch and a class axis");
  Shape one_each = scores.shape();
  one_each[1] = 1;
  if (call.inputs[1].shape() != one_each || call.inputs[2].shape() != one_each)
    return bad_call(call, fmt::format("scores {} need classes and numbers {}", shape_text(scores.shape()),
                                      shape_text(one_each)));
  const AxisView view = around_axis(scores.shape(), 1);
  std::vector<double> values = log_probabilities_of(scores);
  const auto targets = widen<int64_t>(call.inputs[1]);
  const auto factors = widen<double>(call.inputs[2]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const auto sample =
        static_cast<std::size_t>(at / (view.extent * view.inner) * view.inner + at % view.inner);
    const bool is_target = at / view.inner % view.extent == targets[sample];
    values[i] = (std::exp(values[i]) - (is_target ? 1 : 0)) * factors[sample];
  }
  return one(narrow(scores.dtype(), scores.shape(), values));
}

}  // namespace

void add_loss_kernels(RefTable& table) {
  table.add("NegativeLogLikelihoodLoss", negative_log_likelihood);
  table.add("SoftmaxCrossEntropyLoss", softmax_cross_entropy);
  table.add("hone.SoftmaxCrossEntropyLoss", of_f32<softmax_cross_entropy>);
  table.add("hone.CrossEntropyGradient", cross_entropy_gradient);
}

}  // namespace hone::kernels::ref
