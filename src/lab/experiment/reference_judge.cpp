#include "lab/experiment/reference_judge.h"

#include <algorithm>

#include "lab/prepared.h"
#include "runtime/interpreter.h"

namespace hone::lab {
namespace {

constexpr double kOfTheLimit = 0.8;  // that an interpretation of a lossy graph may use up

}  // namespace

Status ReferenceJudge::prepare(const graph::Graph& baseline, std::span<const Tensor> inputs) {
  inputs_.assign(inputs.begin(), inputs.end());
  HONE_ASSIGN(const graph::Graph precise, in_higher_precision(baseline));
  HONE_ASSIGN(reference_, runtime::interpret(precise, inputs));
  computed_in_ = coarsest_arithmetic(baseline);
  return {};
}

Status ReferenceJudge::prepare_by_rows(const graph::Graph& baseline, std::span<const Tensor> inputs,
                                       const BatchSample& sample, std::span<const Tensor> sampled,
                                       bool all_rows) {
  if (all_rows) {
    HONE_CHECK(prepare(baseline, inputs));
    HONE_ASSIGN(reference_of_rows_, BatchSample::first_rows(reference_, sample.outputs));
    return {};
  }
  HONE_CHECK(prepare(sample.graph, sampled));
  inputs_.assign(inputs.begin(), inputs.end());
  reference_of_rows_ = std::move(reference_);
  HONE_ASSIGN(reference_, sample.spread(reference_of_rows_, sample.outputs));
  return {};
}

Status ReferenceJudge::see_unchanged(runtime::Plan& plan) {
  HONE_ASSIGN(const NumericReport unchanged,
              compare_with(reference_, inputs_, plan, {.computed_in = computed_in_, .own = {}}));
  own_errors_ = own_errors(unchanged);
  return {};
}

NumericRules ReferenceJudge::rules_of(double lossy) const {
  NumericRules rules{.computed_in = computed_in_, .own = own_errors_};
  if (lossy > 0) {
    rules.numerics = Numerics::kLossy;
    rules.lossy_rel_l2 = lossy;
  }
  return rules;
}

Result<NumericReport> ReferenceJudge::check(runtime::Plan& plan, double lossy) {
  HONE_ASSIGN(NumericReport numbers, compare_with(reference_, inputs_, plan, rules_of(lossy)));
  if (lossy == 0 || !metric_) return numbers;
  HONE_ASSIGN(const std::vector<Tensor> outputs, plan.read_all());
  return judge_by_metric(std::move(numbers), *metric_, outputs, reference_);
}

NumericReport ReferenceJudge::check_interpreted(const graph::Graph& graph, std::span<const Tensor> outputs,
                                                double lossy) const {
  const NumericRules rules = rules_of(kOfTheLimit * lossy);
  const auto same_shape = [](const Tensor& a, const Tensor& b) { return a.shape() == b.shape(); };
  const bool of_rows = std::equal(outputs.begin(), outputs.end(), reference_of_rows_.begin(),
                                  reference_of_rows_.end(), same_shape);
  const std::vector<Tensor>& reference = of_rows ? reference_of_rows_ : reference_;
  std::vector<ComparedOutput> compared;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    compared.push_back({graph.value(graph.outputs()[i]).name, outputs[i], reference[i]});
  NumericReport numbers = compare_outputs(compared, rules);
  if (!metric_) return numbers;
  return judge_by_metric(std::move(numbers), *metric_, outputs, reference);
}

}  // namespace hone::lab
