#include "analyze/device/busy/divide_busy.h"

#include <utility>
#include <vector>

#include "analyze/device/busy/accumulate_grad.h"
#include "analyze/device/busy/by_itself.h"
#include "analyze/device/busy/channels_first_norms.h"
#include "analyze/device/busy/checks.h"
#include "analyze/device/busy/compiling.h"
#include "analyze/device/busy/fusion.h"
#include "analyze/device/busy/gathers.h"
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
#include "analyze/device/busy/written_messages.h"

namespace hone::analyze::device {

namespace {

View view_of(const trace::Trace& trace, const RankTimeline& timeline, const HostActivity& activity,
             const Loops& loops, const GpuRoofs& roofs) {
  OperatorUses uses = uses_of(trace, timeline, roofs);
  std::vector<AccumulateGrad> calls = find_accumulate_grads(trace, timeline);
  std::vector<char> in_accumulate_grad = works_of_accumulate_grads(trace, timeline, calls);
  return {trace,
          timeline,
          activity,
          loops,
          roofs,
          std::move(uses),
          std::move(calls),
          std::move(in_accumulate_grad),
          CountedWorks(trace, timeline)};
}

}  // namespace

// The order of the list decides nothing but which finder may know what others found: it is given to them. Who
// keeps a work that several claim is a column of the rules' rows (Precedence).
BusySplit divide_busy(const trace::Trace& trace, const RankTimeline& timeline, const HostActivity& activity,
                      const Loops& loops, const GpuRoofs& roofs) {
  View view = view_of(trace, timeline, activity, loops, roofs);
  std::vector<Claims> all = {find_by_itself(view)};
  view.alone = resolve(view.works(), all);
  all.push_back(find_channels_first_norms(view));
  all.push_back(find_long_kernels(view));
  all.push_back(find_pointwise_series(view));
  all.push_back(find_chains(view, resolve(view.works(), all)));
  all.push_back(find_leaking_casts(view, resolve(view.works(), all)));
  all.push_back(find_attention(view));
  all.push_back(find_repeated_heads(view, all.back()));
  all.push_back(find_unfused_optimizers(view));
  all.push_back(find_one_hot_products(view));
  all.push_back(find_merged_weights(view));
  all.push_back(find_widened_weights(view));
  all.push_back(find_written_messages(view));
  all.push_back(find_products_in_turn(view));
  all.push_back(find_micro_batches(view));
  all.push_back(find_repeated_reductions(view));
  all.push_back(find_wide_sums(view));
  all.push_back(find_whole_gathers(view));
  all.push_back(find_repeated_gathers(view));
  all.push_back(find_checks(view));
  all.push_back(find_compiling(view));
  return {resolve(view.works(), all), std::move(view.uses)};
}

}  // namespace hone::analyze::device
