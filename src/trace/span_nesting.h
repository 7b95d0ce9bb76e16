// How the spans of each track enclose each other: which span stands directly around another, and which is
// innermost at an instant. Built once for a trace in O(n log n) (O(n) where spans come ordered by start, as
// importers write them); then every walk outwards costs the depth of nesting, every look-up O(log n).
//
// Spans that overlap without enclosing (kernels on one stream under programmatic dependent launch, ends
// rounded to a microsecond) count as nested by their starts: the later one stands within the earlier one. Steps
// alone stand only within what ends with them or later: many begin at a mark that lies in the last microseconds of a
// range (PyTorch's of the optimizer), and none of what they enclose is of that.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace hone::trace {

inline constexpr uint32_t kNoSpan = 0xffffffffu;

class SpanNesting {
 public:
  // The nesting of the spans as they are now: build it anew after spans were added.
  explicit SpanNesting(const Trace& trace);

  // The innermost span that was open on the same track when `row` began, and encloses it where it is a step; kNoSpan: none.
  uint32_t parent(uint32_t row) const { return parent_[row]; }

  // The spans of a track by start, enclosing ones before what they enclose.
  std::span<const uint32_t> on_track(TrackId track) const;

  // The innermost span of the track that contains `time_ns` (its start included, its end not); kNoSpan: none.
  uint32_t innermost_at(const Trace& trace, TrackId track, int64_t time_ns) const;

  // By row: itself or the nearest span around it of that category; kNoSpan: none. O(spans): one walk outwards
  // for each row would cost the depth of nesting each time.
  std::vector<uint32_t> nearest(const Trace& trace, Category category) const;

 private:
  std::vector<uint32_t> order_;        // rows, track after track
  std::vector<uint32_t> track_begin_;  // into order_; one more than there are tracks
  std::vector<uint32_t> parent_;       // by row
};

}  // namespace hone::trace
