// Orders spans as Perfetto wants them: begin and end events by time, slices of a track properly nested. Spans
// of a track that overlap without nesting are spread over lanes.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace hone::trace::perfetto {

struct LaneEvent {
  int64_t time_ns = 0;
  uint32_t row = 0;  // of the span table
  uint32_t lane = 0;
  bool begins = false;
};

// Two events a span, by time. O(n log n) for spans that nest; each further lane of a track costs a comparison
// per span.
std::vector<LaneEvent> lane_events(const SpanTable& spans);

}  // namespace hone::trace::perfetto
