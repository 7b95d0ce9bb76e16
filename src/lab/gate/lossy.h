// The task's own measure of outputs (accuracy, Dice, perplexity): the judge of lossy changes, whose outputs
// may differ from the reference's by as much as the pass allows and must still be as good.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/result.h"
#include "core/tensor.h"
#include "lab/gate/numeric.h"

namespace hone::lab {

struct TaskMetric {
  std::string name;  // "accuracy"
  std::function<Result<double>(std::span<const Tensor> outputs)> measure;
  double max_loss = 0;  // how much worse than with the reference's outputs it may be
  bool higher_is_better = true;
};

// `numbers` as they are if the metric of `outputs` is within its limit of that of `reference`; failed
// otherwise, or if it cannot be measured, with the reason.
NumericReport judge_by_metric(NumericReport numbers, const TaskMetric& metric,
                              std::span<const Tensor> outputs, std::span<const Tensor> reference);

}  // namespace hone::lab
