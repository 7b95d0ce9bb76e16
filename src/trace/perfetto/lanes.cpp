#include "trace/perfetto/lanes.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace hone::trace::perfetto {
namespace {

// The open slices of one lane, innermost last.
class Lane {
 public:
  Lane(const SpanTable& spans, uint32_t number) : spans_(spans), number_(number) {}

  void close_until(int64_t time_ns, std::vector<LaneEvent>& events) {
    while (!open_.empty() && end_of(open_.back()) <= time_ns) close_one(events);
  }
  bool holds(uint32_t row) const { return open_.empty() || end_of(open_.back()) >= end_of(row); }
  void begin(uint32_t row, std::vector<LaneEvent>& events) {
    events.push_back({spans_.start_ns[row], row, number_, true});
    open_.push_back(row);
  }
  void close_all(std::vector<LaneEvent>& events) {
    while (!open_.empty()) close_one(events);
  }

 private:
  int64_t end_of(uint32_t row) const { return spans_.start_ns[row] + spans_.duration_ns[row]; }
  void close_one(std::vector<LaneEvent>& events) {
    events.push_back({end_of(open_.back()), open_.back(), number_, false});
    open_.pop_back();
  }

  const SpanTable& spans_;
  uint32_t number_;
  std::vector<uint32_t> open_;
};

void add_track(const SpanTable& spans, std::span<const uint32_t> rows, std::vector<LaneEvent>& all) {
  std::vector<Lane> lanes;
  std::vector<std::vector<LaneEvent>> events;
  for (uint32_t row : rows) {
    std::size_t lane = 0;
    for (; lane < lanes.size(); ++lane) {
      lanes[lane].close_until(spans.start_ns[row], events[lane]);
      if (lanes[lane].holds(row)) break;
    }
    if (lane == lanes.size()) {
      lanes.emplace_back(spans, static_cast<uint32_t>(lane));
      events.emplace_back();
    }
    lanes[lane].begin(row, events[lane]);
  }
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    lanes[lane].close_all(events[lane]);
    all.insert(all.end(), events[lane].begin(), events[lane].end());
  }
}

}  // namespace

std::vector<LaneEvent> lane_events(const SpanTable& spans) {
  std::vector<uint32_t> rows(spans.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    if (spans.track[a] != spans.track[b]) return spans.track[a] < spans.track[b];
    if (spans.start_ns[a] != spans.start_ns[b]) return spans.start_ns[a] < spans.start_ns[b];
    if (spans.duration_ns[a] != spans.duration_ns[b]) return spans.duration_ns[a] > spans.duration_ns[b];
    return a < b;
  });
  std::vector<LaneEvent> events;
  events.reserve(rows.size() * 2);
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t last = first;
    while (last < rows.size() && spans.track[rows[last]] == spans.track[rows[first]]) ++last;
    add_track(spans, std::span<const uint32_t>(rows).subspan(first, last - first), events);
    first = last;
  }
  // Stable: events of one lane keep their order at equal times, which is what nests them.
  std::stable_sort(events.begin(), events.end(),
                   [](const LaneEvent& a, const LaneEvent& b) { return a.time_ns < b.time_ns; });
  return events;
}

}  // namespace hone::trace::perfetto
