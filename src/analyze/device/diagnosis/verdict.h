// The verdict on a device's step: which cause is named first, when a step is called healthy, and when the
// trace does not tell.
#pragma once

#include <vector>

#include "analyze/device/diagnosis/remedies.h"
#include "analyze/device/gains.h"
#include "analyze/device/study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

// The share of the device's time whose work is known below which the floor is not known, and a step is called
// healthy only with a reservation.
inline constexpr double kJudgedShare = 0.5;

// `ledger` with its predicted gains. What keeps a step from being launched as one graph goes first only where the
// program's shapes stay: else no graph follows.
Verdict judge(const Study& study, const Gains& gains, const std::vector<LedgerRow>& ledger,
              const ProgramTraits& program);

}  // namespace hone::analyze::device
