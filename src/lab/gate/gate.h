// The gate: keep a change only if measurements show a gain and the numbers still come out right. The gain is
// one of time, by the paired measurement; for a change that aims at memory it may be one of memory that costs
// no time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "lab/gate/numeric.h"
#include "lab/gate/paired.h"

namespace hone::lab {

struct GateOptions {
  double min_gain =
      0;  // share of the time that a change has to gain to be kept, beyond being a claimed difference
  double min_memory_gain = 0.01;  // share of the arena that a change that aims at memory has to save
  double max_slowdown = 0.02;     // share of the time that such a change may cost at the interval's worse end
};

// The arenas of the plans without and with a change.
struct ArenaChange {
  std::size_t before_bytes = 0;
  std::size_t after_bytes = 0;
};

struct GateDecision {
  bool kept = false;
  std::string reason;  // "kept: 1.18× (1.15–1.21), rel. L2 3e-7"; "dropped: no difference, 1.00× (0.99–1.02)"
};

// `speed` compares A (without the change) with B (with it); `numbers` compares B's outputs with the
// reference. `arena` for a change that aims at memory: without a difference in time it is kept for a smaller
// arena.
GateDecision decide(const PairedResult& speed, const NumericReport& numbers,
                    const std::optional<ArenaChange>& arena = {}, const GateOptions& options = {});

}  // namespace hone::lab
