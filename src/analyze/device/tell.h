// Ledger, findings and verdict of a device program: accounts and gains put into the words of device_rules.h.
#pragma once

#include <vector>

#include "analyze/device/accounts.h"
#include "analyze/device/gains.h"
#include "analyze/device/study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

// Of the device's time with known work: below it the floor is not known, and nothing is called healthy
// without a word.
inline constexpr double kJudgedShare = 0.5;

struct Told {
  std::vector<LedgerRow> ledger;
  std::vector<Finding> findings;
  Verdict verdict;
};

Told tell(const Study& study, const Accounts& accounts, const Gains& gains);

}  // namespace hone::analyze::device
