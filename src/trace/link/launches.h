// Which host call launched each piece of device work, and within which operator.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/span_nesting.h"
#include "trace/trace.h"

namespace hone::trace::link {

// Work of a device: a kernel, a copy, a fill or a collective on a stream. Waits on a stream are none.
inline bool is_device_work(const Trace& trace, std::size_t row) {
  const Category category = trace.spans.category[row];
  return (category == Category::kKernel || category == Category::kMemcpy || category == Category::kMemset ||
          category == Category::kCommunication) &&
         trace.tracks[trace.spans.track[row].index].kind == TrackKind::kStream;
}

// The rank whose track a span lies on.
inline int rank_of(const Trace& trace, std::size_t row) {
  return trace.tracks[trace.spans.track[row].index].rank;
}

// One row a piece of device work, by rank and start.
struct DeviceWork {
  uint32_t row = kNoSpan;     // the work itself
  uint32_t launch = kNoSpan;  // the host call that launched it; kNoSpan: not recorded
  uint32_t caller = kNoSpan;  // the innermost operator around that call; kNoSpan: none
};

// By correlation; where the launch was not recorded, the caller by external id. O(n log n).
std::vector<DeviceWork> find_device_work(const Trace& trace, const SpanNesting& nesting);

}  // namespace hone::trace::link
