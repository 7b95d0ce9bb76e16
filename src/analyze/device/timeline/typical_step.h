// The step that a ledger describes: which of a rank's steps it is averaged over, and with which weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// An average of steps that takes as long as their median: averages of parts add up where medians do not. Where steps stall
// again and again, the average of all of them.
struct TypicalStep {
  double ms = 0;               // of the step that users run; the recorded one, where nothing else is known
  double recorded_ms = 0;      // the median of the steps, or their mean
  std::vector<double> weight;  // by window: its share in the average, 0 where it is left out; together 1
  double scale = 1;            // what the weights leave between their average and recorded_ms

  bool counts(std::size_t window) const { return weight[window] > 0; }
  // What a part of a window adds to the typical step, in ms.
  double part_ms(std::size_t window, double ns) const { return ns * weight[window] * scale * 1e-6; }
};

// Weights add up to 1 but for rounding: a number of things that differs from a whole one by no more is that.
double whole_count(double count);

// The half of the steps that is nearest to the median, with weights as equal as make their average the median
// (least squares): so what takes as long in every step keeps its time where steps differ. Where steps stall again and
// again (RankTimeline::stalls): all of them but the warm-up, alike. Only steps
// of `common` count, if there are any: those that all ranks have; in others nobody can be seen to wait for
// anybody.
TypicalStep typical_step(const RankTimeline& timeline, const std::set<int32_t>& common);

}  // namespace hone::analyze::device
