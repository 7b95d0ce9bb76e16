// AccumulateGrad: the end of the backward pass of one parameter, where its gradient is added to what is there
// already, and a distributed wrapper scales it and puts it into a bucket. No compiler of the model sees that
// code, so nothing in it fuses with the passes of the model.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

// One call of it, as the host ran it.
struct AccumulateGrad {
  uint32_t track = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int32_t step = trace::kNoStep;
  std::vector<int64_t> dims;  // of the gradient; empty: not recorded, or a scalar
};

// The calls of this rank, by track and start.
std::vector<AccumulateGrad> find_accumulate_grads(const trace::Trace& trace, const RankTimeline& timeline);

// By work: whether one of these calls launched it.
std::vector<char> works_of_accumulate_grads(const trace::Trace& trace, const RankTimeline& timeline,
                                            const std::vector<AccumulateGrad>& calls);

}  // namespace hone::analyze::device
