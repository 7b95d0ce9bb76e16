#include "analyze/device/timeline/occupancy.h"

#include <algorithm>
#include <set>

namespace hone::analyze::device {
namespace {

enum Class { kComputing, kCopying, kCommunicating };
constexpr int kClasses = 3;
// No device runs more grids at once (CUDA C++ Programming Guide, technical specifications): where a recording has
// more, the later ones wait, and the intervals stay in proportion to the works.
constexpr std::size_t kMostAtOnce = 128;

Class class_of(const Work& work) {
  switch (work.kind) {
    case WorkKind::kCollective:
      return kCommunicating;
    case WorkKind::kCopyToDevice:
    case WorkKind::kCopyToHost:
      return kCopying;
    default:
      return kComputing;
  }
}

struct Edge {
  int64_t time_ns;
  uint32_t work;
  bool begins;
};

class Sweep {
 public:
  Sweep(const RankTimeline& timeline, int device) : timeline_(timeline), device_(device) {
    result_.overlaps.resize(timeline.steps.size());
  }

  Occupancy run() {
    if (timeline_.steps.empty()) return std::move(result_);
    std::vector<Edge> edges = sorted_edges();
    int64_t time = timeline_.steps.front().start_ns;
    for (const Edge& edge : edges) {
      if (edge.time_ns > time) {
        span_windows(time, edge.time_ns, edge.begins ? edge.work : kNothing);
        time = edge.time_ns;
      }
      std::set<uint32_t>& running = running_[class_of(timeline_.works[edge.work])];
      if (edge.begins)
        running.insert(edge.work);
      else
        running.erase(edge.work);
    }
    span_windows(time, timeline_.steps.back().end_ns, kNothing);
    return std::move(result_);
  }

 private:
  // Ends before begins at equal times: a work of no length never runs.
  std::vector<Edge> sorted_edges() const {
    std::vector<Edge> edges;
    edges.reserve(timeline_.works.size() * 2);
    const int64_t from = timeline_.steps.front().start_ns, to = timeline_.steps.back().end_ns;
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) {
      const Work& work = timeline_.works[i];
      const int64_t start = std::max(work.start_ns, from), end = std::min(work.end_ns, to);
      if (start >= end || work.device != device_) continue;
      edges.push_back({start, i, true});
      edges.push_back({end, i, false});
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
      if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
      return a.begins != b.begins ? !a.begins : a.work < b.work;
    });
    return edges;
  }

  // Splits [from, to) at the windows' ends. Time between windows is nobody's.
  void span_windows(int64_t from, int64_t to, uint32_t next) {
    while (from < to && window_ < timeline_.steps.size()) {
      const DeviceStep& step = timeline_.steps[window_];
      if (from >= step.end_ns) {
        ++window_;
        continue;
      }
      from = std::max(from, step.start_ns);
      const int64_t end = std::min(to, step.end_ns);
      if (from < end) segment(from, end, next);
      from = end;
    }
  }

  void segment(int64_t from, int64_t to, uint32_t next) {
    const auto window = static_cast<uint32_t>(window_);
    const auto length = static_cast<double>(to - from);
    Overlap& overlap = result_.overlaps[window];
    const bool computes = !running_[kComputing].empty();
    if (computes) overlap.compute += length;
    if (!running_[kCopying].empty()) {
      overlap.copies += length;
      if (computes) overlap.hidden_copies += length;
    }
    for (const std::set<uint32_t>& running : running_) {
      if (running.empty()) continue;
      overlap.busy += length;
      share(running, window, from, to);
      return;
    }
    gap(window, from, to, next);
  }

  void share(const std::set<uint32_t>& running, uint32_t window, int64_t from, int64_t to) {
    const std::size_t sharers = std::min(running.size(), kMostAtOnce);
    auto work = running.begin();
    for (std::size_t i = 0; i < sharers; ++i, ++work)
      result_.busy.push_back({*work, window, from, to, static_cast<int>(sharers)});
  }

  void gap(uint32_t window, int64_t from, int64_t to, uint32_t next) {
    result_.gaps.push_back({window, from, to, next});
  }

  const RankTimeline& timeline_;
  int device_;
  std::set<uint32_t> running_[kClasses];  // by index: those that began first go first
  std::size_t window_ = 0;
  Occupancy result_;
};

}  // namespace

Occupancy occupancy(const RankTimeline& timeline, int device) { return Sweep(timeline, device).run(); }

}  // namespace hone::analyze::device
