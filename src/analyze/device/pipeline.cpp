#include "analyze/device/pipeline.h"

#include <algorithm>

namespace hone::analyze::device {

double Stage::ms(int micro_batches) const {
  const double again = micro_batches - 1;
  return std::max(device_ms + again * fixed_ms, host_ms + again * host_again_ms);
}

const Stage* longest_stage(std::span<const Stage> stages, int micro_batches) {
  const auto longest = std::max_element(stages.begin(), stages.end(), [&](const Stage& a, const Stage& b) {
    return a.ms(micro_batches) < b.ms(micro_batches);
  });
  return longest == stages.end() ? nullptr : &*longest;
}

Pipelining best_pipelining(std::span<const Stage> stages, int turns, int most_micro_batches, double now_ms) {
  Pipelining best{1, now_ms};
  for (int count = 2; count <= most_micro_batches && !stages.empty(); ++count) {
    double longest = 0, all = 0;
    for (const Stage& stage : stages) {
      all += stage.ms(count);
      longest = std::max(longest, stage.ms(count));
    }
    const double ms = longest + (all - longest) / (count * turns);
    if (ms < best.ms) best = {count, ms};
  }
  return best;
}

}  // namespace hone::analyze::device
