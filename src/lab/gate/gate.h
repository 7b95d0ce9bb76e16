// The gate: keep a change only if the paired measurement shows a gain and the numbers still come out right.
#pragma once

#include <string>

#include "lab/gate/numeric.h"
#include "lab/gate/paired.h"

namespace hone::lab {

struct GateOptions {
  double min_gain =
      0;  // share of the time that a change has to gain to be kept, beyond being a claimed difference
};

struct GateDecision {
  bool kept = false;
  std::string reason;  // "kept: 1.18× (1.15–1.21), rel. L2 3e-7"; "dropped: no difference, 1.00× (0.99–1.02)"
};

// `speed` compares A (without the change) with B (with it); `numbers` compares B's outputs with the
// reference.
GateDecision decide(const PairedResult& speed, const NumericReport& numbers, const GateOptions& options = {});

}  // namespace hone::lab
