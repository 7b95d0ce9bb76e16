#include "analyze/device/step_timeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "trace/kernel_family.h"

namespace hone::analyze::device {
namespace {

using trace::Category;
using trace::TrackKind;

constexpr std::size_t kThreadsOfRank = 6;  // those with the most to show
constexpr std::size_t kStreamsOfRank = 8;

// From the first call of the host for the step to the step's end. The step itself begins later, at `zero_ns`:
// the host runs ahead, and without its calls no kernel could be led back to its launch.
struct Window {
  int64_t start_ns = 0, end_ns = 0;
  int64_t zero_ns = 0;
};
constexpr int64_t kMostAhead = 2;  // steps: of a host that is further ahead the rest is not shown

Window typical_window(const Study& study) {
  const RankTimeline& timeline = study.timelines[study.headline];
  const double median = study.ranks[study.headline].typical.ms;
  const auto nearest = std::min_element(timeline.steps.begin(), timeline.steps.end(),
                                        [&](const DeviceStep& a, const DeviceStep& b) {
                                          return std::abs(a.ms() - median) < std::abs(b.ms() - median);
                                        });
  if (nearest == timeline.steps.end()) return {};
  const int64_t longest = kMostAhead * (nearest->end_ns - nearest->start_ns);
  const int64_t first = std::max(nearest->host_start_ns, nearest->start_ns - longest);
  return {std::min(first, nearest->start_ns), nearest->end_ns, nearest->start_ns};
}

bool is_device_work(Category category) {
  return category == Category::kKernel || category == Category::kMemcpy || category == Category::kMemset ||
         category == Category::kCommunication;
}

// What a track is drawn with. Functions of the host's program nest too deep to be read between operators.
bool is_shown(TrackKind kind, Category category) {
  if (kind == TrackKind::kStream) return is_device_work(category);
  return kind == TrackKind::kThread && category != Category::kFunction;
}

class Builder {
 public:
  Builder(const Study& study, Analysis& analysis)
      : trace_(*study.trace), analysis_(analysis), window_(typical_window(study)) {
    for (const RankTimeline& timeline : study.timelines)
      clock_shift_ns_[timeline.rank] = timeline.clock_shift_ns;
    for (const RankTimeline& timeline : study.timelines) several_devices_ |= timeline.devices.size() > 1;
  }

  void run() {
    std::vector<std::vector<uint32_t>> rows(trace_.tracks.size());
    for (uint32_t row = 0; row < trace_.spans.size(); ++row) {
      const trace::TrackId track = trace_.spans.track[row];
      if (!is_shown(trace_.tracks[track.index].kind, trace_.spans.category[row])) continue;
      const trace::Span span = aligned(row);
      if (span.start_ns < window_.end_ns && span.end_ns() > window_.start_ns)
        rows[track.index].push_back(row);
    }
    const std::vector<uint32_t> shown = tracks_to_show(rows);
    const auto used = std::count_if(rows.begin(), rows.end(), [](const auto& list) { return !list.empty(); });
    analysis_.timeline_left_out = static_cast<int>(used) - static_cast<int>(shown.size());
    for (const uint32_t track : shown) add_track(track, rows[track]);
  }

 private:
  // With times of the clock that all ranks have.
  trace::Span aligned(uint32_t row) const {
    trace::Span span = trace_.spans.row(row);
    const auto shift = clock_shift_ns_.find(trace_.tracks[span.track.index].rank);
    if (shift != clock_shift_ns_.end()) span.start_ns += shift->second;
    return span;
  }

  // By rank, threads before streams; the thread that marks the steps first, then the busiest.
  std::vector<uint32_t> tracks_to_show(const std::vector<std::vector<uint32_t>>& rows) const {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < rows.size(); ++i)
      if (!rows[i].empty() && clock_shift_ns_.contains(trace_.tracks[i].rank)) order.push_back(i);
    const auto place = [&](uint32_t i) { return std::pair(trace_.tracks[i].rank, trace_.tracks[i].kind); };
    const auto marks = [&](uint32_t i) {
      return std::any_of(rows[i].begin(), rows[i].end(),
                         [&](uint32_t row) { return trace_.spans.category[row] == Category::kStep; });
    };
    std::vector<char> marking(rows.size());
    for (const uint32_t i : order) marking[i] = marks(i);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (place(a) != place(b)) return place(a) < place(b);
      return marking[a] != marking[b] ? marking[a] > marking[b] : rows[a].size() > rows[b].size();
    });
    std::vector<uint32_t> shown;
    std::size_t alike = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      alike = i > 0 && place(order[i]) == place(order[i - 1]) ? alike + 1 : 0;
      const bool thread = trace_.tracks[order[i]].kind == TrackKind::kThread;
      if (alike < (thread ? kThreadsOfRank : kStreamsOfRank)) shown.push_back(order[i]);
    }
    return shown;
  }

  void add_track(uint32_t track, std::vector<uint32_t>& rows) {
    const trace::Track& place = trace_.tracks[track];
    const auto at = static_cast<int>(analysis_.timeline_tracks.size());
    std::string name = place.name;
    if (several_devices_ && place.kind == TrackKind::kStream && name.find("device") == std::string::npos)
      name = fmt::format("device {} · {}", place.device, name);
    analysis_.timeline_tracks.push_back(
        analysis_.ranks.size() > 1 ? fmt::format("rank {} · {}", place.rank, name) : name);
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      const auto& spans = trace_.spans;
      if (spans.start_ns[a] != spans.start_ns[b]) return spans.start_ns[a] < spans.start_ns[b];
      return spans.duration_ns[a] > spans.duration_ns[b];
    });
    std::vector<int64_t> open;  // ends of the bars around the next one, innermost last
    for (const uint32_t row : rows) {
      const trace::Span span = aligned(row);
      while (!open.empty() && open.back() <= span.start_ns) open.pop_back();
      add_bar(at, static_cast<int>(open.size()), span);
      open.push_back(span.end_ns());
    }
  }

  void add_bar(int track, int depth, const trace::Span& span) {
    const int64_t start = std::max(span.start_ns, window_.start_ns),
                  end = std::min(span.end_ns(), window_.end_ns);
    TimelineSpan bar;
    bar.track = track;
    bar.depth = depth;
    bar.start_ms = static_cast<double>(start - window_.zero_ns) * 1e-6;
    bar.ms = static_cast<double>(end - start) * 1e-6;
    const bool on_device =
        is_device_work(span.category) && trace_.tracks[span.track.index].kind == TrackKind::kStream;
    bar.name = on_device ? trace::kernel_short_name(trace_.name(span)) : std::string(trace_.name(span));
    bar.kind = trace::category_name(span.category);
    bar.link = span.correlation;
    if (span.op.valid()) {
      const trace::Operator& op = trace_.operators[span.op.index];
      bar.op_class = op.op_class;
      if (on_device) bar.kind += " of " + op.kind;
      if (!op.geometry.empty()) bar.kind += ", " + op.geometry;
    }
    analysis_.timeline.push_back(std::move(bar));
  }

  const trace::Trace& trace_;
  Analysis& analysis_;
  Window window_;
  std::map<int, int64_t> clock_shift_ns_;  // of the ranks that are spoken of
  bool several_devices_ = false;
};

}  // namespace

void add_step_timeline(const Study& study, Analysis& analysis) {
  if (!study.timelines.empty()) Builder(study, analysis).run();
}

}  // namespace hone::analyze::device
