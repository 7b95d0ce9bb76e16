// Products that a loop of the program does one after another, when one batched product could do all of them.
#pragma once

#include "analyze/device/busy/busy_split.h"
#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/timeline/loops.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// Marks in `split` the loops that launch nothing but matrix products, none of which can be a factor of the
// next by its shape, and each of which fills the device at most once: no block of it begins while another
// ends, so each pays for filling and draining the device alone. The first product of a loop stands for the
// batched one.
void mark_products_in_turn(const trace::Trace& trace, const RankTimeline& timeline, const Loops& loops,
                           const GpuRoofs& roofs, BusySplit& split);

}  // namespace hone::analyze::device
