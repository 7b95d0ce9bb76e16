// What the changes that `hone lab -- COMMAND` can make in a PyTorch program would win. A finding predicts what its own cause loses; a change
// does what it does to all works at once: bf16 halves what lies between convolutions, too, and costs the host its conversions.
#pragma once

#include <vector>

#include "analyze/advised_changes.h"
#include "analyze/device/accounts.h"
#include "analyze/device/gains.h"
#include "analyze/device/study.h"

namespace hone::analyze::device {

// Of the changes that rules with time in the accounts (of the headline rank) advise first, each by itself, largest first; none of
// programs that are not PyTorch's.
std::vector<ChangeGain> change_gains(const Study& study, const Accounts& accounts, const Gains& gains);

}  // namespace hone::analyze::device
