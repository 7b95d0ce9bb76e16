#include "lab/training/curve_judge.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "core/clock.h"
#include "graph/training/step.h"

namespace hone::lab {
namespace {

// What two f32 runs of the same mathematics may lie apart, at least. A gradient's norm is a difference of what is nearly
// equal more often than a loss is.
constexpr double kLossLimit = 1e-4;
constexpr double kNormLimit = 1e-3;
// A reordered sum rounds at every term, the disturbed weights only once each.
constexpr double kTimesTheBand = 8;
constexpr double kLossyNorm = 4;  // times the limit of a lossy pass, for the same reason
constexpr int kMostHalved =
    28;  // a scale that no gradient bears falls from 2^16 to far below 1, where hone train gives up

Tensor as_tensor(const std::vector<double>& values) {
  Tensor tensor = Tensor::zeros(DType::kF64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<double>().begin());
  return tensor;
}

NumericReport compare_curves(const LossCurve& curve, const LossCurve& unchanged, double loss_limit,
                             double norm_limit) {
  NumericReport report;
  report.numerics = Numerics::kReassociating;
  const auto add = [&](const char* name, const std::vector<double>& is, const std::vector<double>& was,
                       double limit) {
    report.outputs.push_back(
        compare_output({name, as_tensor(is), as_tensor(was)}, {.rel_l2 = limit, .max_rel = limit}));
  };
  add("loss", curve.loss, unchanged.loss, loss_limit);
  add("gradient norm", curve.gradient_norm, unchanged.gradient_norm, norm_limit);
  report.passed = true;
  for (const OutputReport& output : report.outputs) {
    report.max_rel_err = std::max(report.max_rel_err, output.max_rel_err);
    report.rel_l2 = std::max(report.rel_l2, output.rel_l2);
    if (report.passed && !output.passed)
      report.detail = fmt::format("{} of {} steps: {}", output.name, curve.loss.size(), output.detail);
    report.passed = report.passed && output.passed;
  }
  if (report.passed)
    report.detail =
        fmt::format("loss of {} steps within {:.1g}, gradient norm within {:.1g}", curve.loss.size(),
                    report.outputs[0].max_rel_err, report.outputs[1].max_rel_err);
  return report;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  return compare_output({"", as_tensor(a), as_tensor(b)}, {}).max_rel_err;
}

bool stays_finite(const LossCurve& curve) {
  const auto finite = [](double value) { return std::isfinite(value); };
  return std::all_of(curve.loss.begin(), curve.loss.end(), finite) &&
         std::all_of(curve.gradient_norm.begin(), curve.gradient_norm.end(), finite);
}

}  // namespace

Status CurveJudge::prepare(const graph::Graph& baseline, std::span<const Tensor> inputs) {
  const BatchInputs data_inputs(baseline, fields_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = baseline.value(baseline.inputs()[i]).name;
    values_[name] = inputs[i];
    if (!data_inputs.contains(i) && inputs[i].dtype() == DType::kF32) parameters_.push_back(name);
  }
  return {};
}

void CurveJudge::know(const std::map<std::string, Tensor>& initial) {
  values_.insert(initial.begin(), initial.end());
}

Status CurveJudge::write(runtime::Plan& plan, const Values& values) const {
  const graph::Graph& graph = plan.graph();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto value = values.find(graph.value(graph.inputs()[i]).name);
    if (value == values.end())
      return invalid(fmt::format("nobody says what the state '{}' of a step begins with",
                                 graph.value(graph.inputs()[i]).name));
    HONE_CHECK(plan.write(i, value->second));
  }
  return {};
}

Status CurveJudge::start_anew(runtime::Plan& plan) const { return write(plan, values_); }

Result<LossCurve> CurveJudge::curve_of(runtime::Plan& plan, const Values& values, int steps) const {
  HONE_CHECK(write(plan, values));
  LossCurve curve;
  BatchInputs data_inputs(plan.graph(), fields_);
  for (int step = 0; step < steps; ++step) {
    if (options_.keep_going && !options_.keep_going())
      return Error{ErrorCode::kCancelled, "interrupted while the loss was compared step by step"};
    HONE_CHECK(data_inputs.write(plan, batches_[static_cast<std::size_t>(step) % batches_.size()]));
    HONE_CHECK(plan.run());
    HONE_ASSIGN(const Tensor loss, plan.read(graph::kStepLoss));
    HONE_ASSIGN(const Tensor norm, plan.read(graph::kStepNorm));
    curve.loss.push_back(loss.at(0));
    curve.gradient_norm.push_back(norm.at(0));
  }
  HONE_CHECK(start_anew(plan));
  return curve;
}

Result<double> CurveJudge::settle_loss_scale(runtime::Plan& plan) {
  HONE_CHECK(start_anew(plan));
  BatchInputs data_inputs(plan.graph(), fields_);
  HONE_CHECK(data_inputs.write(plan, batches_.front()));
  for (int halved = 0; halved < kMostHalved; ++halved) {
    HONE_CHECK(plan.run());
    HONE_ASSIGN(const Tensor norm, plan.read(graph::kStepNorm));
    if (!std::isfinite(norm.at(0))) continue;
    HONE_ASSIGN(const Tensor scale, plan.read(graph::kStepLossScale));
    values_[graph::kLossScaleState] = Tensor::scalar_f32(static_cast<float>(scale.at(0)));
    HONE_CHECK(start_anew(plan));
    return scale.at(0);
  }
  return invalid("its gradients are not finite, however the loss is scaled");
}

// Up or down, by a fair coin: as if another kernel had rounded them.
CurveJudge::Values CurveJudge::disturbed_values() const {
  Values values = values_;
  std::mt19937_64 coin(1);
  for (const std::string& name : parameters_) {
    Tensor moved = values_.at(name).clone();
    for (float& value : moved.as<float>())
      if (value != 0) value = std::nextafter(value, (coin() & 1) != 0 ? 2 * value : 0.0F);
    values[name] = std::move(moved);
  }
  return values;
}

Status CurveJudge::see_unchanged(runtime::Plan& plan) {
  HONE_ASSIGN(unchanged_, curve_of(plan, values_, options_.least_steps));
  const int64_t start = now_ns();
  HONE_ASSIGN(unchanged_, curve_of(plan, values_, options_.least_steps));
  const double step_s = static_cast<double>(now_ns() - start) * 1e-9 / options_.least_steps;
  steps_ = std::clamp(static_cast<int>(options_.seconds / std::max(step_s, 1e-6)), options_.least_steps,
                      options_.most_steps);
  HONE_ASSIGN(unchanged_, curve_of(plan, values_, steps_));
  if (!stays_finite(unchanged_))
    return invalid(
        "the loss of the recipe as it is does not stay finite in its first steps: nothing can be judged by "
        "it; "
        "hone train says where it comes from");
  const Values disturbed = disturbed_values();
  HONE_ASSIGN(disturbed_, curve_of(plan, disturbed, steps_));
  loss_band_ = largest_difference(disturbed_.loss, unchanged_.loss);
  norm_band_ = largest_difference(disturbed_.gradient_norm, unchanged_.gradient_norm);
  last_ = unchanged_;
  return {};
}

Result<NumericReport> CurveJudge::check(runtime::Plan& plan, double lossy) {
  HONE_ASSIGN(last_, curve_of(plan, values_, steps_));
  loss_allowed_ = std::max({kLossLimit, kTimesTheBand * loss_band_, lossy});
  norm_allowed_ = std::max(most_allowed(), kLossyNorm * lossy);
  return compare_curves(last_, unchanged_, loss_allowed_, norm_allowed_);
}

double CurveJudge::most_allowed() const {
  return std::max({kNormLimit, kTimesTheBand * loss_band_, kTimesTheBand * norm_band_});
}

std::vector<analyze::LearningCurve> CurveJudge::curves() const {
  return {{"loss", unchanged_.loss, last_.loss, disturbed_.loss, loss_allowed_},
          {"gradient norm", unchanged_.gradient_norm, last_.gradient_norm, disturbed_.gradient_norm,
           norm_allowed_}};
}

std::string CurveJudge::how() const {
  return fmt::format(
      "judged by the loss and the gradient norm of {} steps from the same weights on the same {} batches; "
      "weights that "
      "differ in their last place move them by {:.1g} and {:.1g}",
      steps_, batches_.size(), loss_band_, norm_band_);
}

}  // namespace hone::lab
