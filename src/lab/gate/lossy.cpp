#include "lab/gate/lossy.h"

#include <fmt/core.h>

namespace hone::lab {

NumericReport judge_by_metric(NumericReport numbers, const TaskMetric& metric,
                              std::span<const Tensor> outputs, std::span<const Tensor> reference) {
  const auto now = metric.measure(outputs);
  const auto before = metric.measure(reference);
  if (!now.ok() || !before.ok()) {
    numbers.passed = false;
    numbers.detail =
        fmt::format("{} could not be measured: {}", metric.name, (now.ok() ? before : now).error().message);
    return numbers;
  }
  const double loss = metric.higher_is_better ? *before - *now : *now - *before;
  const std::string change = fmt::format("{} {:.4g} instead of {:.4g}", metric.name, *now, *before);
  if (!(loss <= metric.max_loss)) {
    numbers.passed = false;
    numbers.detail = fmt::format("{}, more than {:.4g} worse", change, metric.max_loss);
  } else {
    numbers.detail += fmt::format(", {}", change);
  }
  return numbers;
}

}  // namespace hone::lab
