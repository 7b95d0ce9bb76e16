// Operators that are called with other sizes each time: with as many boxes as a detector finds, or with a cache
// that grows by a token a turn. In tables their calls are one row, with the range of sizes; and a step of many of
// them is no graph that could be launched again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/device/busy/operator_uses.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

struct VaryingShapes {
  std::vector<std::string> geometry;  // by row of the operator table: as the row's, or with ranges of sizes
  double share = 0;          // of the works of marked steps: of operators whose sizes vary from step to step
  bool cache_grows = false;  // attention over more keys each time, or appending to what was appended to
};

// Rows of one operator that no step, or not every one, has in common vary from step to step; so many that follow each
// other by one more element grow. Sizes that stay tell them apart: those of a layer of 64 channels are not those of
// one of 128. O(n log n) in the operators.
VaryingShapes varying_shapes(const trace::Trace& trace, const RankTimeline& timeline,
                             const OperatorUses& uses);

// "8637–8647×4 f32" of "8637×4 f32" and "8647×4 f32": texts that differ in their numbers alone; else the first, and
// how many others there are.
std::string range_of_sizes(const std::vector<std::string_view>& texts);

}  // namespace hone::analyze::device
