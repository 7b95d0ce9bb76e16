// Rows that are looked up by a product: a matrix with a single one in each row is written, converted and
// multiplied by a table, which reads and writes as many zeros as the table has rows for each number looked
// up.
#pragma once

#include "analyze/device/busy/busy_split.h"
#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// Marks in `split` what writes ones into rows of zeros (a scatter of one value along the last dimension, as
// F.one_hot does it), the conversions of the result, and the products that read it as it is: looking the rows
// up, or adding them up by their numbers in the backward pass, takes their place. A matrix that anything else
// has changed or read in between (a loss, a weighting) is none of this.
void mark_one_hot_products(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs,
                           BusySplit& split);

}  // namespace hone::analyze::device
