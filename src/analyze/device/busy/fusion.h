// What fusion would not have: chains of passes over memory, conversions of type, attention written by hand,
// optimizers of many small works. Each is marked in what busy_split.h made of the works one by one.
#pragma once

#include <vector>

#include "analyze/device/busy/busy_split.h"
#include "analyze/device/busy/leaves.h"

namespace hone::analyze::device {

// Nothing fuses with what runs at `leaves`.
void mark_fusible(const trace::Trace& trace, const RankTimeline& timeline, const std::vector<Leaf>& leaves,
                  const GpuRoofs& roofs, TraitsByName& traits, BusySplit& split);

}  // namespace hone::analyze::device
