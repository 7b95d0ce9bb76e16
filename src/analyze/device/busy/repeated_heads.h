// Grouped-query attention by copies: heads of keys and values written out once for each head of the queries
// that shares them, which a kernel of attention can read as they are.
#pragma once

#include "analyze/device/busy/busy_split.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// Marks those broadcasts written out (Reason::kBroadcast) of which attention reads as many elements: a fused
// kernel as its keys or values, attention written by hand in one of its products. Comes after those were
// marked.
void mark_repeated_heads(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split);

}  // namespace hone::analyze::device
