// Gradients that are reduced more often than they are used: a step that accumulates gradients over
// micro-batches and reduces them after each (DistributedDataParallel without no_sync()), although one
// optimizer step follows.
#pragma once

#include "analyze/device/busy_split.h"
#include "analyze/device/rank_timeline.h"

namespace hone::analyze::device {

// Marks in `split` the reductions that a later one of the same step repeats, and the pass over the same
// elements that prepares each: they belong to communication and need not be launched. A step's reductions are
// its all-reduces and reduce-scatters between two forward passes. They are repeats only where every pass
// reduces the same sizes, and these are as many elements as the optimizer updates: reductions of activations
// (tensor parallelism) are not.
void mark_repeated_reductions(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split);

}  // namespace hone::analyze::device
