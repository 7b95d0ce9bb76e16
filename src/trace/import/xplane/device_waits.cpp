#include "trace/import/xplane/device_waits.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace hone::trace::xplane {
namespace {

constexpr int64_t kShortestNs = 20'000;  // of a stretch, and of what the device does in it
// From the end of the device's work until the thread goes on: the driver tells a thread of XLA, which wakes that one.
constexpr int64_t kAlwaysSoonNs = 50'000, kNeverSoonNs = 1'500'000;
constexpr double kSoonShare = 0.25;  // of the time waited until then
constexpr double kMostOfAKind = 0.66;
constexpr int64_t kFewestOfAKind = 2;

// A time in which nothing that is recorded begins or ends on the thread.
struct Stretch {
  int64_t start_ns = 0, end_ns = 0;
  std::pair<uint32_t, uint32_t> kind;  // the names of the events around it
  bool waits = false;
};

bool runs_on_device(Category category) {
  return category == Category::kKernel || category == Category::kMemcpy || category == Category::kMemset ||
         category == Category::kCommunication;
}

// What of the host's doings may be a wait that nobody recorded: that it waits, compiles or calls is known.
bool may_hide_a_wait(Category category) {
  return category == Category::kStep || category == Category::kRegion || category == Category::kFunction ||
         category == Category::kOther;
}

class StretchFinder {
 public:
  explicit StretchFinder(std::vector<Span> spans) : spans_(std::move(spans)) {
    std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
    });
  }

  std::vector<Stretch> run() {
    for (const Span& span : spans_) {
      close_until(span.start_ns);
      reach(span.start_ns, span.name);
      open_.push_back(span);
    }
    close_until(INT64_MAX);
    return std::move(found_);
  }

 private:
  void close_until(int64_t time_ns) {
    while (!open_.empty() && open_.back().end_ns() <= time_ns) {
      const Span closing = open_.back();
      reach(closing.end_ns(), closing.name);
      open_.pop_back();
    }
  }

  // Something of this name begins or ends.
  void reach(int64_t time_ns, StringId name) {
    const bool may_wait = open_.empty() ? at_ns_ >= 0 : may_hide_a_wait(open_.back().category);
    if (may_wait && at_ns_ >= 0 && time_ns - at_ns_ >= kShortestNs)
      found_.push_back({at_ns_, time_ns, {name_.index, name.index}});
    if (time_ns < at_ns_) return;
    at_ns_ = time_ns;
    name_ = name;
  }

  std::vector<Span> spans_, open_;
  std::vector<Stretch> found_;
  int64_t at_ns_ = -1;
  StringId name_;
};

struct LaunchedWork {
  int64_t launched_ns = 0, end_ns = 0;
};

std::vector<LaunchedWork> launched_work(const Trace& trace, std::span<const Span> spans) {
  std::unordered_map<uint64_t, int64_t> launches;
  const auto on_stream = [&](const Span& span) {
    return trace.tracks[span.track.index].kind == TrackKind::kStream;
  };
  for (const Span& span : spans)
    if (span.correlation != 0 && !on_stream(span)) launches.try_emplace(span.correlation, span.start_ns);
  std::vector<LaunchedWork> works;
  for (const Span& span : spans) {
    if (!on_stream(span) || !runs_on_device(span.category)) continue;
    const auto launch = launches.find(span.correlation);
    works.push_back(
        {launch == launches.end() ? span.start_ns : std::min(launch->second, span.start_ns), span.end_ns()});
  }
  std::sort(works.begin(), works.end(),
            [](const LaunchedWork& a, const LaunchedWork& b) { return a.launched_ns < b.launched_ns; });
  return works;
}

bool ends_a_wait(const Stretch& stretch, int64_t drained_ns) {
  const int64_t waited = drained_ns - stretch.start_ns, after = stretch.end_ns - drained_ns;
  return after <= kAlwaysSoonNs ||
         (after <= kNeverSoonNs && static_cast<double>(after) <= kSoonShare * static_cast<double>(waited));
}

}  // namespace

DeviceWaits find_device_waits(const Trace& trace, std::span<const Span> spans, TrackId thread) {
  const std::vector<LaunchedWork> works = launched_work(trace, spans);
  std::vector<Span> own;
  std::copy_if(spans.begin(), spans.end(), std::back_inserter(own),
               [&](const Span& span) { return span.track == thread && span.duration_ns > 0; });
  struct Seen {
    int64_t all = 0, waits = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Seen> kinds;
  std::vector<Stretch> drained;  // within which the device ends all that it has
  std::size_t next = 0;
  int64_t end_ns = 0;
  const auto run_launches_before = [&](int64_t time_ns) {
    for (; next < works.size() && works[next].launched_ns < time_ns; ++next)
      end_ns = std::max(end_ns, works[next].end_ns);
  };
  for (Stretch& stretch : StretchFinder(std::move(own)).run()) {
    run_launches_before(stretch.start_ns);
    const bool device_works = end_ns >= stretch.start_ns + kShortestNs;
    // Other threads of XLA may launch meanwhile: they copy what the thread waits for.
    run_launches_before(stretch.end_ns);
    if (!device_works || end_ns > stretch.end_ns) continue;
    stretch.waits = ends_a_wait(stretch, end_ns);
    Seen& seen = kinds[stretch.kind];
    ++seen.all;
    seen.waits += stretch.waits ? 1 : 0;
    drained.push_back(stretch);
  }
  DeviceWaits found;
  for (const Stretch& stretch : drained) {
    const Seen& seen = kinds[stretch.kind];
    const bool counts = seen.waits >= kFewestOfAKind &&
                        static_cast<double>(seen.waits) >= kMostOfAKind * static_cast<double>(seen.all);
    if (!stretch.waits) continue;
    if (counts)
      found.waits.push_back({stretch.start_ns, stretch.end_ns});
    else
      ++found.unclear;
  }
  return found;
}

}  // namespace hone::trace::xplane
