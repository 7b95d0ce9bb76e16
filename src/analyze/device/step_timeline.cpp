#include "analyze/device/step_timeline.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "analyze/device/accounts.h"
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

Window drawn_window(const Study& study) {
  const RankTimeline& timeline = study.timelines[study.headline];
  if (timeline.steps.empty()) return {};
  const DeviceStep& step = timeline.steps[typical_window(study, study.headline)];
  const int64_t longest = kMostAhead * (step.end_ns - step.start_ns);
  const int64_t first = std::max(step.host_start_ns, step.start_ns - longest);
  return {std::min(first, step.start_ns), step.end_ns, step.start_ns};
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
      : study_(study), trace_(*study.trace), analysis_(analysis), window_(drawn_window(study)) {
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
    add_idle(shown);
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

  // On the stream of the ledger's device that runs most of the step's works: where the device is idle, so is
  // it.
  void add_idle(const std::vector<uint32_t>& shown) {
    const RankTimeline& timeline = study_.timelines[study_.headline];
    const std::size_t drawn = typical_window(study_, study_.headline);
    std::map<uint32_t, int> works;  // by track
    for (const Work& work : timeline.works)
      if (timeline.in_ledger(work) && work.step == timeline.steps[drawn].step)
        ++works[timeline.streams[work.stream].index];
    const auto most = std::max_element(works.begin(), works.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == works.end()) return;
    const auto at = std::find(shown.begin(), shown.end(), most->first);
    if (at == shown.end()) return;
    analysis_.idle_track = static_cast<int>(at - shown.begin());
    for (const IdlePart& part : study_.ranks[study_.headline].idle) {
      if (part.window != drawn || part.ns <= 0) continue;
      IdleAccount account = account_of(study_, study_.headline, part);
      analysis_.idle.push_back({static_cast<double>(part.start_ns - window_.zero_ns) * 1e-6, part.ns * 1e-6,
                                account.cause, std::move(account.name)});
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

  const Study& study_;
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
