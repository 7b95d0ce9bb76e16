#include "lab/gate/gate.h"

#include <fmt/format.h>

namespace hone::lab {

GateDecision decide(const PairedResult& speed, const NumericReport& numbers, const GateOptions& options) {
  const std::string ratio = ratio_text(speed.ratio);
  // Wrong numbers first: how fast a wrong answer comes doesn't matter.
  if (!numbers.passed)
    return {false, fmt::format("dropped: {} ({} change; speed {})", numbers.detail,
                               numerics_name(numbers.numerics), ratio)};
  switch (speed.verdict) {
    case Verdict::kNoDifference:
      return {false, fmt::format("dropped: no difference, {}", ratio)};
    case Verdict::kSlower:
      return {false, fmt::format("dropped: slower, {}", ratio)};
    case Verdict::kFaster:
      break;
  }
  const double gain = 1 - 1 / speed.ratio.median;
  if (gain < options.min_gain)
    return {false, fmt::format("dropped: gains {:.1f} % of the time, less than the {:.1f} % asked for, {}",
                               100 * gain, 100 * options.min_gain, ratio)};
  return {true, fmt::format("kept: {}, {}", ratio, numbers.detail)};
}

}  // namespace hone::lab
