// What runs at the leaves of autograd's graph, where a gradient arrives at its parameter: it is added to what
// is there already, and a distributed wrapper scales it and puts it into a bucket. No compiler of the model
// sees that code, so nothing in it fuses with the passes of the model.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

// The arrival of one gradient, as the host ran it.
struct Leaf {
  uint32_t track = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int32_t step = trace::kNoStep;
  std::vector<int64_t> dims;  // of the gradient; empty: not recorded, or a scalar
};

// Of this rank, by track and start.
std::vector<Leaf> find_leaves(const trace::Trace& trace, const RankTimeline& timeline);

// By work: whether it was launched at a leaf.
std::vector<char> works_at_leaves(const trace::Trace& trace, const RankTimeline& timeline,
                                  const std::vector<Leaf>& leaves);

}  // namespace hone::analyze::device
