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
struct DrawnWindow {
  int64_t start_ns = 0, end_ns = 0;
  int64_t zero_ns = 0;
};
constexpr int64_t kMostAhead = 2;  // steps: of a host that is further ahead nothing before the step is shown

DrawnWindow drawn_window(const Study& study) {
  const RankTimeline& timeline = study.timelines[study.headline];
  if (timeline.steps.empty()) return {};
  const DeviceStep& step = timeline.steps[typical_window(study, study.headline)];
  const int64_t longest = kMostAhead * (step.end_ns - step.start_ns);
  const bool near = step.host_start_ns >= step.start_ns - longest;
  return {near ? std::min(step.host_start_ns, step.start_ns) : step.start_ns, step.end_ns, step.start_ns};
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

class StepTimelineBuilder {
 public:
  StepTimelineBuilder(const Study& study, Analysis& analysis)
      : study_(study), trace_(*study.trace), analysis_(analysis), window_(drawn_window(study)) {
    for (const RankTimeline& timeline : study.timelines)
      clock_shift_ns_[timeline.rank] = timeline.clock_shift_ns;
    for (const RankTimeline& timeline : study.timelines) several_devices_ |= timeline.devices.size() > 1;
    turns_[analysis.ledger_rank] = -2;
    if (analysis.late_rank) turns_[analysis.late_rank->rank] = -1;
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
    add_idle();
  }

 private:
  // With times of the clock that all ranks have.
  trace::Span aligned(uint32_t row) const {
    trace::Span span = trace_.spans.row(row);
    const auto shift = clock_shift_ns_.find(trace_.tracks[span.track.index].rank);
    if (shift != clock_shift_ns_.end()) span.start_ns += shift->second;
    return span;
  }

  // The rank of the ledger, the one that it waits for, then the others by number.
  int turn_of(int rank) const {
    const auto found = turns_.find(rank);
    return found == turns_.end() ? rank : found->second;
  }

  // By rank, threads before streams; the thread that marks the steps first, then the busiest.
  std::vector<uint32_t> tracks_to_show(const std::vector<std::vector<uint32_t>>& rows) const {
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < rows.size(); ++i)
      if (!rows[i].empty() && clock_shift_ns_.contains(trace_.tracks[i].rank)) order.push_back(i);
    const auto place = [&](uint32_t i) {
      return std::pair(turn_of(trace_.tracks[i].rank), trace_.tracks[i].kind);
    };
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
    std::string name = place.name;
    if (several_devices_ && place.kind == TrackKind::kStream && name.find("device") == std::string::npos)
      name = fmt::format("device {} · {}", place.device, name);
    if (analysis_.ranks.size() > 1) name = fmt::format("rank {} · {}", place.rank, name);
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      const auto& spans = trace_.spans;
      if (spans.start_ns[a] != spans.start_ns[b]) return spans.start_ns[a] < spans.start_ns[b];
      return spans.duration_ns[a] > spans.duration_ns[b];
    });
    if (place.kind == TrackKind::kStream) add_operators(track, name);
    const auto at = static_cast<int>(analysis_.timeline_tracks.size());
    analysis_.timeline_tracks.push_back(name);
    places_[track] = at;
    std::vector<int64_t> open;  // ends of the bars around the next one, innermost last
    for (const uint32_t row : rows) {
      const trace::Span span = aligned(row);
      while (!open.empty() && open.back() <= span.start_ns) open.pop_back();
      add_bar(at, static_cast<int>(open.size()), span);
      open.push_back(span.end_ns());
    }
  }

  // Where the host runs so far ahead that the launches of a stream's works lie before what is drawn, nothing
  // else says which operators they are of: a row of its own, above them.
  void add_operators(uint32_t track, const std::string& name) {
    const std::vector<const Work*> works = drawn_works(track);
    const auto early = std::count_if(works.begin(), works.end(), [&](const Work* work) {
      const HostCall* call = timeline_of(track)->launch_of(*work);
      return call != nullptr && call->start_ns < window_.start_ns;
    });
    if (2 * early <= std::ssize(works)) return;
    const auto at = static_cast<int>(analysis_.timeline_tracks.size());
    analysis_.timeline_tracks.push_back(name + ": operators");
    int64_t drawn_until = window_.start_ns;
    for (std::size_t i = 0; i < works.size();) {
      const Work& first = *works[i];
      int64_t end = first.end_ns;
      for (++i; i < works.size() && works[i]->execution == first.execution && first.execution != kNothing;
           ++i)
        end = std::max(end, works[i]->end_ns);
      const int64_t start = std::max(first.start_ns, drawn_until);
      end = std::min(end, window_.end_ns);
      if (first.op == kNothing || end <= start) continue;
      const trace::Operator& op = trace_.operators[first.op];
      analysis_.timeline.push_back({.track = at,
                                    .start_ms = static_cast<double>(start - window_.zero_ns) * 1e-6,
                                    .ms = static_cast<double>(end - start) * 1e-6,
                                    .name = op.kind,
                                    .kind = fmt::format("operator {}", op.geometry),
                                    .op_class = op.op_class});
      drawn_until = end;
    }
  }

  const RankTimeline* timeline_of(uint32_t track) const {
    const auto found = std::find_if(
        study_.timelines.begin(), study_.timelines.end(),
        [&](const RankTimeline& timeline) { return timeline.rank == trace_.tracks[track].rank; });
    return found == study_.timelines.end() ? nullptr : &*found;
  }

  // The spans of a stream, by start.
  std::vector<const Work*> drawn_works(uint32_t track) const {
    std::vector<const Work*> works;
    const RankTimeline* timeline = timeline_of(track);
    if (timeline == nullptr) return works;
    for (const Work& work : timeline->works)
      if (timeline->streams[work.stream].index == track && work.start_ns < window_.end_ns &&
          work.end_ns > window_.start_ns)
        works.push_back(&work);
    return works;
  }

  // On the stream of a rank's device that runs most of its works in the step: where the device is idle, so is
  // it. The steps of other ranks end a little earlier or later.
  void add_idle() {
    std::map<int, std::size_t> ranks;  // by place of their stream among the tracks
    for (std::size_t rank = 0; rank < study_.timelines.size(); ++rank)
      if (const auto found = places_.find(main_stream(rank)); found != places_.end())
        ranks[found->second] = rank;
    for (const auto& [at, rank] : ranks) add_idle_of(rank, at);
  }

  // kNothing: the rank does nothing in the step.
  uint32_t main_stream(std::size_t rank) const {
    const RankTimeline& timeline = study_.timelines[rank];
    std::map<uint32_t, int> works;  // by track
    for (const Work& work : timeline.works)
      if (timeline.in_ledger(work) && work.start_ns < window_.end_ns && work.end_ns > window_.zero_ns)
        ++works[timeline.streams[work.stream].index];
    const auto most = std::max_element(works.begin(), works.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == works.end() ? kNothing : most->first;
  }

  void add_idle_of(std::size_t rank, int track) {
    for (const IdleInterval& part : study_.ranks[rank].idle) {
      const int64_t start = std::max(part.start_ns, window_.zero_ns);
      const int64_t end = std::min(part.start_ns + static_cast<int64_t>(part.ns), window_.end_ns);
      if (end <= start) continue;
      IdleAccount account = account_of(study_, rank, part);
      analysis_.idle.push_back({track, static_cast<double>(start - window_.zero_ns) * 1e-6,
                                static_cast<double>(end - start) * 1e-6, account.cause,
                                std::move(account.name)});
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
  DrawnWindow window_;
  std::map<int, int64_t> clock_shift_ns_;  // of the ranks that are spoken of
  std::map<int, int> turns_;               // of ranks that do not stand by their number
  std::map<uint32_t, int> places_;         // of tracks among those that are drawn
  bool several_devices_ = false;
};

}  // namespace

void add_step_timeline(const Study& study, Analysis& analysis) {
  if (!study.timelines.empty()) StepTimelineBuilder(study, analysis).run();
}

}  // namespace hone::analyze::device
