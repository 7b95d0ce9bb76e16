#include "analyze/device/busy/divide_busy.h"

#include "analyze/device/busy/checks.h"
#include "analyze/device/busy/compiling.h"
#include "analyze/device/busy/fusion.h"
#include "analyze/device/busy/gathers.h"
#include "analyze/device/busy/leaves.h"
#include "analyze/device/busy/long_kernels.h"
#include "analyze/device/busy/merged_weights.h"
#include "analyze/device/busy/micro_batches.h"
#include "analyze/device/busy/one_hot.h"
#include "analyze/device/busy/pointwise_series.h"
#include "analyze/device/busy/products_in_turn.h"
#include "analyze/device/busy/reductions.h"
#include "analyze/device/busy/repeated_heads.h"
#include "analyze/device/busy/weight_gathers.h"
#include "analyze/device/busy/widened_weights.h"

namespace hone::analyze::device {

BusySplit divide_busy(const trace::Trace& trace, const RankTimeline& timeline, const HostActivity& activity,
                      const Loops& loops, const GpuRoofs& roofs) {
  TraitsByName traits(trace);
  BusySplit split = split_works(trace, timeline, roofs, traits);
  mark_long_kernels(trace, timeline, roofs, split);
  const std::vector<Leaf> leaves = find_leaves(trace, timeline);
  mark_pointwise_series(trace, timeline, split);
  mark_fusible(trace, timeline, leaves, roofs, traits, split);
  mark_repeated_heads(trace, timeline, split);
  mark_one_hot_products(trace, timeline, roofs, split);
  mark_merged_weights(trace, timeline, roofs, split);
  mark_widened_weights(trace, timeline, roofs, split);
  mark_products_in_turn(trace, timeline, loops, roofs, split);
  mark_micro_batches(trace, timeline, leaves, split);
  mark_repeated_reductions(trace, timeline, split);
  mark_wide_sums(trace, timeline, split);
  mark_whole_gathers(trace, timeline, split);
  mark_repeated_gathers(trace, timeline, split);
  mark_checks(trace, timeline, split);
  mark_compiling(timeline, activity, split);
  return split;
}

}  // namespace hone::analyze::device
