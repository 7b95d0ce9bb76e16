// Whether ranks were recorded in one run: files of two runs of one program look alike, and everything that is
// said of waiting would be wrong. Judged by what only ranks of one run have in common.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/device/timeline/matched_collectives.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

// A rank that cannot be put beside the others, and why.
struct RankOfOtherRun {
  int rank = 0;     // as the program counts
  std::string why;  // "the ends of 21 collectives, which …"
};

struct OneRun {
  std::vector<RankTimeline> timelines;  // of the ranks that go together: as many as do
  std::vector<RankOfOtherRun> of_other_runs;
};

// At most as many turns as ranks, each O(n log n) in the collectives.
OneRun ranks_of_one_run(const trace::Trace& trace, std::vector<RankTimeline> timelines);

}  // namespace hone::analyze::device
