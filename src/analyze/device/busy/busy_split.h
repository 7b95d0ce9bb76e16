// Where the time of a rank's busy device goes: every work divided into its operator's floor and what
// precision, layout, avoidable traffic and inefficiency cost on top, each with what the work would take
// without it. divide_busy.h makes it.
#pragma once

#include <vector>

#include "analyze/device/busy/claims.h"
#include "analyze/device/busy/operator_uses.h"

namespace hone::analyze::device {

struct BusySplit {
  std::vector<WorkSplit> works;  // as RankTimeline::works
  OperatorUses uses;
};

}  // namespace hone::analyze::device
