#include "trace/link/told_steps.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/statistics.h"

namespace hone::trace::link {

void leave_out_other_steps(Trace& trace) {
  constexpr double kLeast = 0.6,
                   kMost = 1.6;  // twice as long, or half, is another step; recorders differ by less
  std::vector<BlockSteps>& told = trace.meta.block_steps;
  if (told.empty() || !trace.meta.blocks.empty()) return;
  std::map<int, std::vector<double>> found_ns, told_ns;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == Category::kStep)
      found_ns[trace.tracks[trace.spans.track[row].index].rank].push_back(
          static_cast<double>(trace.spans.duration_ns[row]));
  for (const BlockSteps& step : told)
    if (step.shown) told_ns[step.rank].push_back(step.mean_ns);
  std::erase_if(told, [&](const BlockSteps& step) {
    const auto found = found_ns.find(step.rank), recorded = told_ns.find(step.rank);
    if (found == found_ns.end() || recorded == told_ns.end()) return true;
    const double ratio = median(found->second) / median(recorded->second);
    return ratio < kLeast || ratio > kMost;
  });
}

}  // namespace hone::trace::link
