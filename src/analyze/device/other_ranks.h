// What ranks compute whose ledger is not shown, as far as the rank whose ledger is shown does not: the shown
// rank is the one that waits, and what it waits for happens elsewhere. Times are those of each rank's typical
// step, with overlapped work counted as in the tables of operators.
#pragma once

#include <vector>

#include "analyze/device/ranks.h"
#include "analyze/device/study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

struct OtherRanks {
  std::vector<RankOperator> late;            // of the rank that is waited for; largest difference first
  std::vector<ElsewhereOperator> elsewhere;  // longest first
  // Too little of some rank's device time leads back to operators: what that rank runs, or the shown one if
  // it is that, is compared with nothing.
  bool known = true;
};

// `shown`: operators of the headline rank.
OtherRanks other_ranks(const Study& study, const Straggler& late, const std::vector<OperatorTime>& shown);

}  // namespace hone::analyze::device
