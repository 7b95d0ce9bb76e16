// Gradients that are reduced more often than they are used: a step that accumulates gradients over
// micro-batches and reduces them after each (DistributedDataParallel without no_sync()), although one
// optimizer step follows.
#pragma once

#include <vector>

#include "analyze/device/busy_split.h"
#include "analyze/device/rank_timeline.h"

namespace hone::analyze::device {

// By work: 1 for a reduction that a later one of the same step repeats, and for the pass over the same
// elements that prepares it; empty where there is none. A step's reductions are its all-reduces and
// reduce-scatters between two forward passes. They are repeats only where every pass reduces the same sizes,
// and these are as many elements as the optimizer updates: reductions of activations (tensor parallelism) are
// not.
std::vector<char> repeated_reductions(const trace::Trace& trace, const RankTimeline& timeline,
                                      const BusySplit& split);

}  // namespace hone::analyze::device
