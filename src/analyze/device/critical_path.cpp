#include "analyze/device/critical_path.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "analyze/device/replay/replay_program.h"
#include "trace/kernel_family.h"

namespace hone::analyze::device {
namespace {

constexpr double kWorthSplittingNs = 300'000;

enum class LinkKind : uint8_t { kHost, kKernel, kCopy, kCollective, kLatency };
constexpr std::array<std::string_view, 5> kLinkNames = {"host", "kernel", "copy", "collective", "latency"};

// A segment of the path.
struct Link {
  uint32_t rank;
  double start_ns, end_ns;
  LinkKind kind;
  uint32_t work;  // kNothing: of the host
  Activity activity = Activity::kIssue;
  uint32_t span = kNothing;  // of the host: what it was in, if that says something
};

// A call that returned when a work was over.
struct Wait {
  double returned_ns;
  uint32_t work;
};

// Walks back from the end of the step. It ends whatever the recording holds, for each turn goes down in the
// order (time, place on the rank): on one rank to a work that began before (its index is lower) and never to
// a later time; to the host, and from there to a work that ended earlier; to another rank only if that is
// earlier in time. Without the last, ranks whose collectives were matched crosswise would send it round in a
// circle.
class Walk {
 public:
  explicit Walk(const Study& study) : study_(study) {
    for (std::size_t rank = 0; rank < study.timelines.size(); ++rank) {
      waits_.push_back(waits_of(rank));
      before_.push_back(predecessors(study.timelines[rank]));
    }
  }

  std::vector<PathSegment> run() {
    const auto rank = static_cast<uint32_t>(study_.headline);
    const DeviceStep& step = study_.timelines[rank].steps[typical_window(study_, rank)];
    from_ = static_cast<double>(step.start_ns);
    to_ = static_cast<double>(step.end_ns);
    at_ = to_;
    rank_ = rank;
    work_ = last_work(rank, step.end_ns);
    while (at_ > from_) work_ == kNothing ? over_host() : over_work();
    return segments();
  }

 private:
  const RankTimeline& timeline() const { return study_.timelines[rank_]; }

  std::vector<Wait> waits_of(std::size_t rank) const {
    std::vector<Wait> waits;
    for (const Item& item : study_.programs[rank].items)
      if (item.waits_for != kNothing && item.call != kNothing)
        waits.push_back(
            {static_cast<double>(study_.timelines[rank].calls[item.call].end_ns), item.waits_for});
    std::sort(waits.begin(), waits.end(),
              [](const Wait& a, const Wait& b) { return a.returned_ns < b.returned_ns; });
    return waits;
  }

  static std::vector<uint32_t> predecessors(const RankTimeline& timeline) {
    std::vector<uint32_t> before(timeline.works.size(), kNothing), last(timeline.streams.size(), kNothing);
    for (uint32_t i = 0; i < timeline.works.size(); ++i) {
      before[i] = last[timeline.works[i].stream];
      last[timeline.works[i].stream] = i;
    }
    return before;
  }

  // The work that ends with the step; nothing where the host is what ends last.
  uint32_t last_work(uint32_t rank, int64_t end_ns) const {
    const std::vector<Work>& works = study_.timelines[rank].works;
    for (std::size_t i = works.size(); i-- > 0;)
      if (works[i].end_ns == end_ns) return static_cast<uint32_t>(i);
    return kNothing;
  }

  void add(double start, LinkKind kind, uint32_t work) {
    start = std::clamp(start, from_, at_);
    if (start < at_) links_.push_back({rank_, start, at_, kind, work});
    at_ = start;
  }

  static LinkKind kind_of(WorkKind kind) {
    switch (kind) {
      case WorkKind::kCollective:
        return LinkKind::kCollective;
      case WorkKind::kCopyToDevice:
      case WorkKind::kCopyToHost:
      case WorkKind::kCopyOnDevice:
        return LinkKind::kCopy;
      default:
        return LinkKind::kKernel;
    }
  }

  // From the end of a work to what its start waited for.
  void over_work() {
    const uint32_t i = work_;
    const Work& work = timeline().works[i];
    const MatchedCollective* collective = study_.collectives.find(rank_, i);
    if (collective != nullptr && collective->last_ns < at_ &&
        collective->last_ns > static_cast<double>(work.start_ns) + 2'000) {
      add(collective->last_ns, kind_of(work.kind), i);
      for (const Arrival& arrival : collective->ranks)
        if (arrival.start_ns == collective->last_ns) {
          rank_ = arrival.rank;
          work_ = arrival.work;
        }
    } else {
      add(static_cast<double>(work.start_ns), kind_of(work.kind), i);
    }
    to_binder();
  }

  void to_binder() {
    const Work& work = timeline().works[work_];
    const ProgramWork& bound = study_.programs[rank_].works[work_];
    const HostCall* call = timeline().launch_of(work);
    uint32_t binder = before_[rank_][work_];
    for (uint32_t other : bound.after)
      if (other != kNothing && other < work_ && timeline().works[other].end_ns <= work.start_ns &&
          (binder == kNothing || timeline().works[other].end_ns > timeline().works[binder].end_ns))
        binder = other;
    const auto ended = binder == kNothing ? 0 : timeline().works[binder].end_ns;
    if (binder != kNothing && (call == nullptr || ended >= call->start_ns)) {
      add(std::min(static_cast<double>(ended), at_), LinkKind::kLatency, work_);
      work_ = binder;
      return;
    }
    if (call != nullptr) add(static_cast<double>(call->start_ns), LinkKind::kLatency, work_);
    if (call == nullptr) add(from_, LinkKind::kLatency, work_);
    work_ = kNothing;
  }

  // The host, back to where it last waited for a work.
  void over_host() {
    const std::vector<Wait>& waits = waits_[rank_];
    auto at = std::upper_bound(waits.begin(), waits.end(), at_,
                               [](double time, const Wait& wait) { return time < wait.returned_ns; });
    while (at != waits.begin()) {
      --at;
      const double ended = static_cast<double>(timeline().works[at->work].end_ns);
      if (ended >= at_) continue;  // no cause of what came before it
      add(ended, LinkKind::kHost, kNothing);
      work_ = at->work;
      return;
    }
    add(from_, LinkKind::kHost, kNothing);
  }

  std::string track_name(const Link& link) const {
    const std::string rank = study_.timelines.size() > 1
                                 ? fmt::format("rank {} · ", study_.timelines[link.rank].rank)
                                 : std::string();
    if (link.work == kNothing) return rank + "host";
    const RankTimeline& of = study_.timelines[link.rank];
    const trace::Track& track = study_.trace->tracks[of.streams[of.works[link.work].stream].index];
    const std::string device = of.devices.size() > 1 ? fmt::format("device {} · ", track.device) : "";
    return fmt::format("{}{}stream {}", rank, device, track.tid);
  }

  static std::string_view activity_name(Activity activity) {
    constexpr std::string_view kNames[kActivityCount] = {"issuing operators",
                                                         "waiting",
                                                         "allocating",
                                                         "copying",
                                                         "compiling",
                                                         "preparing input",
                                                         "reading files",
                                                         "launching collectives",
                                                         "the program's own code"};
    return kNames[static_cast<std::size_t>(activity)];
  }

  std::string host_name(const Link& link) const {
    std::string name(activity_name(link.activity));
    if (link.activity == Activity::kIssue || link.span == kNothing) return name;
    return fmt::format("{}: {}", name, study_.trace->strings.text(study_.trace->spans.name[link.span]));
  }

  // A link of the host as what it did, interval by interval; what is short counts as issuing.
  void split_host(const Link& link, std::vector<Link>& out) const {
    const std::vector<ActivitySpan>& intervals = study_.activities[link.rank].intervals;
    auto at = std::upper_bound(intervals.begin(), intervals.end(), link.start_ns,
                               [](double time, const ActivitySpan& interval) {
                                 return time < static_cast<double>(interval.end_ns);
                               });
    double done = link.start_ns;
    for (; at != intervals.end() && static_cast<double>(at->start_ns) < link.end_ns; ++at) {
      const double from = std::max(static_cast<double>(at->start_ns), link.start_ns);
      const double to = std::min(static_cast<double>(at->end_ns), link.end_ns);
      if (at->activity == Activity::kIssue || to - from < kWorthSplittingNs) continue;
      if (from > done) out.push_back({link.rank, done, from, LinkKind::kHost, kNothing});
      out.push_back({link.rank, from, to, LinkKind::kHost, kNothing, at->activity, at->span});
      done = to;
    }
    if (done < link.end_ns) out.push_back({link.rank, done, link.end_ns, LinkKind::kHost, kNothing});
  }

  std::string work_name(const Link& link) const {
    const Work& work = study_.timelines[link.rank].works[link.work];
    return trace::kernel_short_name(study_.trace->strings.text(study_.trace->spans.name[work.span]));
  }

  // Joins neighbours of one track and kind; a joined segment is named by what takes most of it.
  std::vector<PathSegment> segments() {
    std::reverse(links_.begin(), links_.end());
    std::vector<Link> links;
    for (const Link& link : links_) link.work == kNothing ? split_host(link, links) : links.push_back(link);
    std::vector<PathSegment> path;
    for (std::size_t i = 0; i < links.size();) {
      const std::string track = track_name(links[i]);
      const LinkKind kind = links[i].kind;
      std::map<std::string, double> names;
      std::size_t end = i, works = 0;
      // Short latencies between kernels of a stream belong to the run of kernels.
      for (; end < links.size(); ++end) {
        const Link& link = links[end];
        const double ns = link.end_ns - link.start_ns;
        const bool tail = end > i && link.kind == LinkKind::kLatency && ns < 5'000;
        if (!tail && (link.kind != kind || link.activity != links[i].activity || track_name(link) != track))
          break;
        if (tail && kind == LinkKind::kHost) break;
        if (tail) continue;
        ++works;
        names[link.work == kNothing ? host_name(link) : work_name(link)] += ns;
      }
      const auto most = std::max_element(names.begin(), names.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      PathSegment segment;
      segment.track = track;
      segment.kind = kLinkNames[static_cast<std::size_t>(kind)];
      segment.name = most->first;
      if (kind == LinkKind::kLatency) segment.name = "until " + most->first + " begins";
      if (works > 1 && kind != LinkKind::kHost)
        segment.name = fmt::format("{} and {} more", most->first, works - 1);
      segment.start_ms = (links[i].start_ns - from_) * 1e-6;
      segment.ms = (links[end - 1].end_ns - links[i].start_ns) * 1e-6;
      path.push_back(std::move(segment));
      i = end;
    }
    return path;
  }

  const Study& study_;
  std::vector<std::vector<Wait>> waits_;
  std::vector<std::vector<uint32_t>> before_;
  std::vector<Link> links_;  // latest first
  double from_ = 0, to_ = 0, at_ = 0;
  uint32_t rank_ = 0;
  uint32_t work_ = kNothing;
};

}  // namespace

std::vector<PathSegment> critical_path(const Study& study) { return Walk(study).run(); }

}  // namespace hone::analyze::device
