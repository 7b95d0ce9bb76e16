// Judges by the outputs of one step, computed in double precision by the reference kernels.
#pragma once

#include <optional>
#include <vector>

#include "lab/experiment/judge.h"
#include "lab/gate/lossy.h"

namespace hone::lab {

class ReferenceJudge final : public Judge {
 public:
  // `metric`: of the task; judges lossy results beside their own limits.
  explicit ReferenceJudge(std::optional<TaskMetric> metric = {}) : metric_(std::move(metric)) {}

  std::string preparing() const override { return "computing the reference in double precision"; }
  Status prepare(const graph::Graph& baseline, std::span<const Tensor> inputs) override;
  Status prepare_by_rows(const graph::Graph& baseline, std::span<const Tensor> inputs,
                         const BatchSample& sample, std::span<const Tensor> sampled, bool all_rows) override;
  Status see_unchanged(runtime::Plan& plan) override;
  Result<NumericReport> check(runtime::Plan& plan, double lossy) override;
  bool judges_interpretations() const override { return true; }
  NumericReport check_interpreted(const graph::Graph& graph, std::span<const Tensor> outputs,
                                  double lossy) const override;

 private:
  NumericRules rules_of(double lossy) const;

  std::optional<TaskMetric> metric_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> reference_;          // of the whole batch
  std::vector<Tensor> reference_of_rows_;  // of those that interpretations are of; empty: of the whole batch
  DType computed_in_ = DType::kF32;        // what the given model rounds to
  std::vector<OwnError> own_errors_;       // of the given model, one an output
};

}  // namespace hone::lab
