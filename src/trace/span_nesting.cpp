#include "trace/span_nesting.h"

#include <algorithm>
#include <numeric>

namespace hone::trace {

SpanNesting::SpanNesting(const Trace& trace) {
  const SpanTable& spans = trace.spans;
  const std::size_t rows = spans.size();
  track_begin_.assign(trace.tracks.size() + 1, 0);
  for (const TrackId track : spans.track) ++track_begin_[track.index + 1];
  std::partial_sum(track_begin_.begin(), track_begin_.end(), track_begin_.begin());
  order_.resize(rows);
  std::vector<uint32_t> next(track_begin_.begin(), track_begin_.end() - 1);
  for (std::size_t row = 0; row < rows; ++row)
    order_[next[spans.track[row].index]++] = static_cast<uint32_t>(row);

  const auto end_of = [&](uint32_t row) { return spans.start_ns[row] + spans.duration_ns[row]; };
  const auto outer_first = [&](uint32_t a, uint32_t b) {
    if (spans.start_ns[a] != spans.start_ns[b]) return spans.start_ns[a] < spans.start_ns[b];
    if (spans.duration_ns[a] != spans.duration_ns[b]) return spans.duration_ns[a] > spans.duration_ns[b];
    return a < b;
  };
  parent_.assign(rows, kNoSpan);
  std::vector<uint32_t> open;
  for (std::size_t track = 0; track + 1 < track_begin_.size(); ++track) {
    const auto begin = order_.begin() + track_begin_[track];
    const auto end = order_.begin() + track_begin_[track + 1];
    if (!std::is_sorted(begin, end, outer_first)) std::sort(begin, end, outer_first);
    open.clear();
    for (auto at = begin; at != end; ++at) {
      const bool step = spans.category[*at] == Category::kStep;
      const auto outside = [&](uint32_t around) {
        return end_of(around) <= spans.start_ns[*at] || (step && end_of(around) < end_of(*at));
      };
      while (!open.empty() && outside(open.back())) open.pop_back();
      if (!open.empty()) parent_[*at] = open.back();
      open.push_back(*at);
    }
  }
}

std::span<const uint32_t> SpanNesting::on_track(TrackId track) const {
  if (track.index + 1 >= track_begin_.size()) return {};  // of a track that came later
  return {order_.data() + track_begin_[track.index], order_.data() + track_begin_[track.index + 1]};
}

uint32_t SpanNesting::innermost_at(const Trace& trace, TrackId track, int64_t time_ns) const {
  const std::span<const uint32_t> rows = on_track(track);
  const auto after = std::upper_bound(rows.begin(), rows.end(), time_ns, [&](int64_t time, uint32_t row) {
    return time < trace.spans.start_ns[row];
  });
  if (after == rows.begin()) return kNoSpan;
  for (uint32_t row = *(after - 1); row != kNoSpan; row = parent_[row])
    if (time_ns < trace.spans.start_ns[row] + trace.spans.duration_ns[row]) return row;
  return kNoSpan;
}

std::vector<uint32_t> SpanNesting::nearest(const Trace& trace, Category category) const {
  std::vector<uint32_t> nearest(parent_.size(), kNoSpan);
  for (const uint32_t row : order_) {  // a parent before what it encloses
    if (trace.spans.category[row] == category)
      nearest[row] = row;
    else if (parent_[row] != kNoSpan)
      nearest[row] = nearest[parent_[row]];
  }
  return nearest;
}

}  // namespace hone::trace
