// How much of a program a recording still holds: files are cut off, recorders drop records, events cannot be
// read. Where enough is missing the verdict says so itself, or there is none.
#pragma once

#include <string>

#include "analyze/device/timeline/rank_timeline.h"
#include "analyze/findings.h"
#include "trace/trace.h"

namespace hone::analyze::device {

struct Evidence {
  double missing_works = 0;     // kernels that the host launched in the steps, and that are not there: share
  double missing_launches = 0;  // works of the steps whose launch is not there: share
  double silent = 0;     // operators after the last call of the device on their thread, of a cut-off file
  double tail = 0;       // of the last step after everything that the cut-off file has: share
  double lost = 0;       // records that were dropped, or could not be read: share of all
  double unclear = 0;    // works of the steps that share the call of another's one launch: share
  double timeless = 0;   // works of the steps that take no time: share
  bool cut_off = false;  // the file ends before the recording does
  int torn_steps = 0;    // left out because the recording ends within them

  // What is missing, in words; empty: nothing that matters.
  std::string missing() const;
  bool enough() const;
};

// Leaves steps at the end out of `timeline` within which the recording ends, as long as one stays.
Evidence weigh_evidence(const trace::Trace& trace, RankTimeline& timeline);

// Says in the verdict that it is of a part, or takes it back.
void qualify(const Evidence& evidence, Analysis& analysis);

}  // namespace hone::analyze::device
