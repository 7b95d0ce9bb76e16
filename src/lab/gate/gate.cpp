#include "lab/gate/gate.h"

#include <fmt/core.h>

namespace hone::lab {

namespace {

// A change that aims at memory and makes no difference in time that could be told.
GateDecision decide_memory(const PairedResult& speed, const NumericReport& numbers, const ArenaChange& arena,
                           const GateOptions& options) {
  const std::string ratio = ratio_text(speed.ratio);
  const auto before = static_cast<double>(arena.before_bytes);
  const double saved = before > 0 ? 1 - static_cast<double>(arena.after_bytes) / before : 0;
  if (saved < options.min_memory_gain)
    return {false,
            fmt::format("dropped: saves {:.1f} % of the arena, less than the {:.1f} % asked for; time {}",
                        100 * saved, 100 * options.min_memory_gain, ratio)};
  if (speed.ratio.low < 1 - options.max_slowdown)
    return {false, fmt::format("dropped: saves {:.1f} % of the arena, but may cost more than {:.1f} % of the "
                               "time, {}",
                               100 * saved, 100 * options.max_slowdown, ratio)};
  return {true, fmt::format("kept: saves {:.1f} % of the arena at no cost of time, {}, {}", 100 * saved,
                            ratio, numbers.detail)};
}

}  // namespace

GateDecision decide(const PairedResult& speed, const NumericReport& numbers,
                    const std::optional<ArenaChange>& arena, const GateOptions& options) {
  const std::string ratio = ratio_text(speed.ratio);
  // Wrong numbers first: how fast a wrong answer comes doesn't matter.
  if (!numbers.passed)
    return {false, fmt::format("dropped: {} ({} change; speed {})", numbers.detail,
                               numerics_name(numbers.numerics), ratio)};
  switch (speed.change) {
    case SpeedChange::kNoDifference:
      if (arena) return decide_memory(speed, numbers, *arena, options);
      return {false, fmt::format("dropped: no difference, {}", ratio)};
    case SpeedChange::kSlower:
      return {false, fmt::format("dropped: slower, {}", ratio)};
    case SpeedChange::kFaster:
      break;
  }
  const double gain = 1 - 1 / speed.ratio.median;
  if (gain < options.min_gain)
    return {false, fmt::format("dropped: gains {:.1f} % of the time, less than the {:.1f} % asked for, {}",
                               100 * gain, 100 * options.min_gain, ratio)};
  return {true, fmt::format("kept: {}, {}", ratio, numbers.detail)};
}

}  // namespace hone::lab
