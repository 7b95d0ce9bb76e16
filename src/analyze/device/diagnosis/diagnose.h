// Ledger and findings of a device program: accounts and gains put into the words of the rules' rows. The
// verdict on them is verdict.h's.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyze/device/accounts.h"
#include "analyze/device/gains.h"
#include "analyze/device/study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

struct Diagnosis {
  std::vector<LedgerRow> ledger;
  std::vector<Finding> findings;
  Verdict verdict;
  std::optional<Loading> loading;
};

// `late`: what the rank that is waited for computes otherwise (other_ranks.h).
Diagnosis diagnose(const Study& study, const Accounts& accounts, const Gains& gains,
                   std::span<const RankOperator> late);

}  // namespace hone::analyze::device
