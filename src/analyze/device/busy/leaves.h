// What runs at the leaves of autograd's graph, where a gradient arrives at its parameter: it is added to what
// is there already, and a distributed wrapper scales it and puts it into a bucket. No compiler of the model
// sees that code, so nothing in it fuses with the passes of the model.
#pragma once

#include <vector>

#include "analyze/device/busy/busy_split.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// By work: whether it was launched at a leaf.
std::vector<char> works_at_leaves(const trace::Trace& trace, const RankTimeline& timeline);

// Marks in `split` the sums of gradients over micro-batches: of m micro-batches all but the first add to what
// the ones before left, which reads and writes all gradients once more. What half as many micro-batches would
// not have is marked. Where every gradient is added to something, the number of micro-batches does not show,
// and nothing is marked.
void mark_accumulations(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split);

}  // namespace hone::analyze::device
