// Weights that are put together anew in every call: two narrow matrices are multiplied into one of a weight's
// size (a low-rank adapter, LoRA), it is scaled and added to the weight, and one product reads the sum.
#pragma once

#include "analyze/device/busy/busy_split.h"
#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// Marks in `split` the narrow product, the scalings and the sum, where a product of the forward pass then
// reads the sum as its weight. x·(W + s·A·B) is x·W + s·(x·A)·B whatever the three are: that the narrow
// matrices may stay beside the weight needs no knowledge of what they hold. The sum stands for the two narrow
// products of the activations that take its place.
void mark_merged_weights(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs,
                         BusySplit& split);

}  // namespace hone::analyze::device
