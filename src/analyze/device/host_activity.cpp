#include "analyze/device/host_activity.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>
#include <string>

namespace hone::analyze::device {
namespace {

using trace::Category;

struct NamedActivity {
  std::string_view word;  // in lower case
  Activity activity;      // kIssue: says that the words below do not count
};

// The first word that a name contains decides.
constexpr NamedActivity kWords[] = {
    {"compiled", Activity::kIssue},  // running what was compiled
    {"cache lookup", Activity::kIssue},
    {"readback", Activity::kIssue},
    {"dynamo", Activity::kCompile},
    {"inductor", Activity::kCompile},
    {"compile", Activity::kCompile},
    {"codegen", Activity::kCompile},
    {"autotun", Activity::kCompile},
    {"nvrtc", Activity::kCompile},
    {"cumoduleload", Activity::kCompile},
    {"culibraryload", Activity::kCompile},
    {"dataloader", Activity::kInput},
    {"data_loader", Activity::kInput},
    {"prefetch", Activity::kInput},
    {"preprocess", Activity::kInput},
    {"augment", Activity::kInput},
    {"collate", Activity::kInput},
    {"tokeniz", Activity::kInput},
    {"get_batch", Activity::kInput},
    {"next_batch", Activity::kInput},
    {"load_batch", Activity::kInput},
    {"read_", Activity::kIo},
    {"file", Activity::kIo},
    {"disk", Activity::kIo},
    {"checkpoint_save", Activity::kIo},
    {"save_checkpoint", Activity::kIo},
    {"torch.save", Activity::kIo},
    {"torch.load", Activity::kIo},
};

// Operators of frameworks are named after what they compute: "aten::index_read_" reads no file.
bool speaks_of_itself(std::string_view name) {
  return name.starts_with("aten::") || name.starts_with("autograd::") || name.starts_with("c10d::") ||
         name.starts_with("ProfilerStep") || name.starts_with("nccl:");
}

bool is_outer(Activity activity) {
  return activity == Activity::kCommunicate || activity == Activity::kCompile ||
         activity == Activity::kInput || activity == Activity::kIo;
}

// A span of the host with what it says about the time inside it.
struct HostSpan {
  int64_t start_ns;
  int64_t end_ns;
  uint32_t row;
  Activity activity;
  bool says;           // its own activity, rather than "something of the program's"
  bool outer = false;  // speaks for all that is inside it
  bool reads = false;  // an operator that reads a value of the device, if it waits
};

class Flattener {
 public:
  Flattener(const trace::Trace& trace, const RankTimeline& timeline)
      : trace_(trace), timeline_(timeline), named_(trace.strings.size()) {}

  HostActivity run() {
    std::vector<std::vector<Stretch>> lanes;
    std::vector<std::vector<HostSpan>> threads = collect();
    for (std::vector<HostSpan>& spans : threads) lanes.push_back(flatten(spans));
    result_.stretches = merge(lanes);
    if (!timeline_.steps.empty() && !result_.stretches.empty() &&
        timeline_.steps.front().host_start_ns < result_.stretches.front().start_ns)
      result_.stretches.insert(result_.stretches.begin(),
                               {timeline_.steps.front().host_start_ns, result_.stretches.front().start_ns,
                                Activity::kOther, kNothing});
    name_long_stretches();
    std::sort(result_.recorded_starts.begin(), result_.recorded_starts.end());
    return std::move(result_);
  }

 private:
  Activity named(trace::StringId name) {
    std::optional<Activity>& known = named_[name.index];
    if (!known) known = named_activity(trace_.strings.text(name));
    return *known;
  }

  // What a call that copies and lasts until the copy is nearly over keeps the host from: reading a value is
  // waiting, more is copying.
  Activity blocked(uint32_t row) const {
    const auto at = std::lower_bound(copy_calls_.begin(), copy_calls_.end(), row,
                                     [](const auto& entry, uint32_t wanted) { return entry.first < wanted; });
    return at != copy_calls_.end() && at->first == row ? at->second : Activity::kIssue;
  }

  void find_blocking_copies() {
    for (const HostCall& call : timeline_.calls)
      if (const Activity activity = copy_activity(trace_, timeline_, call); activity != Activity::kIssue)
        copy_calls_.push_back({call.span, activity});
    for (std::size_t i = 0; i < timeline_.calls.size(); ++i)
      if (ends_a_copy(timeline_, i)) copy_calls_.push_back({timeline_.calls[i].span, Activity::kCopy});
    std::sort(copy_calls_.begin(), copy_calls_.end());
  }

  // Operators that read a value from the device: all that is in them would go with the read.
  static bool reads_value(std::string_view name) {
    constexpr std::string_view kReaders[] = {"aten::item",       "aten::_local_scalar_dense", "aten::nonzero",
                                             "aten::is_nonzero", "aten::masked_select",       "aten::equal"};
    return std::find(std::begin(kReaders), std::end(kReaders), name) != std::end(kReaders);
  }

  HostSpan describe(uint32_t row) {
    const trace::SpanTable& spans = trace_.spans;
    HostSpan span{spans.start_ns[row], spans.start_ns[row] + spans.duration_ns[row], row, Activity::kIssue,
                  true};
    switch (spans.category[row]) {
      case Category::kSynchronization:
        span.activity = blocked(row);
        if (span.activity == Activity::kIssue) span.activity = Activity::kWait;
        break;
      case Category::kAllocation:
        span.activity = Activity::kAllocate;
        break;
      case Category::kInput:
        span.activity = Activity::kInput;
        span.outer = true;
        break;
      case Category::kIo:
        span.activity = Activity::kIo;
        span.outer = true;
        break;
      case Category::kCompile:
        span.activity = Activity::kCompile;
        span.outer = true;
        break;
      case Category::kRuntime:
        span.activity = blocked(row);
        if (span.activity == Activity::kIssue) span.activity = named(spans.name[row]);
        break;
      case Category::kOperator:
      case Category::kRegion:
      case Category::kFunction:
        span.activity = spans.name[row].valid() ? named(spans.name[row]) : Activity::kIssue;
        span.says = span.activity != Activity::kIssue;
        span.outer = is_outer(span.activity);
        span.reads =
            spans.category[row] == Category::kOperator && reads_value(trace_.name(trace_.spans.row(row)));
        break;
      default:
        span.says = false;
    }
    return span;
  }

  std::vector<std::vector<HostSpan>> collect() {
    find_blocking_copies();
    std::vector<std::vector<HostSpan>> threads(timeline_.threads.size());
    std::vector<uint32_t> thread_of(trace_.tracks.size(), kNothing);
    for (uint32_t i = 0; i < timeline_.threads.size(); ++i) thread_of[timeline_.threads[i].index] = i;
    const trace::SpanTable& spans = trace_.spans;
    for (std::size_t row = 0; row < spans.size(); ++row) {
      const uint32_t thread = thread_of[spans.track[row].index];
      if (thread == kNothing || spans.category[row] == Category::kStep) continue;
      result_.recorded_starts.push_back(spans.start_ns[row]);
      if (spans.duration_ns[row] > 0) threads[thread].push_back(describe(static_cast<uint32_t>(row)));
    }
    for (std::vector<HostSpan>& list : threads)
      std::stable_sort(list.begin(), list.end(), [](const HostSpan& a, const HostSpan& b) {
        return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
      });
    for (std::vector<HostSpan>& list : threads) mark_readers(list);
    return threads;
  }

  // Readers that wait inside are waiting as a whole.
  static void mark_readers(std::vector<HostSpan>& spans) {
    std::vector<std::size_t> open;  // readers
    for (std::size_t i = 0; i < spans.size(); ++i) {
      while (!open.empty() && spans[open.back()].end_ns <= spans[i].start_ns) open.pop_back();
      if (spans[i].activity == Activity::kWait)
        for (std::size_t reader : open) {
          spans[reader].activity = Activity::kWait;
          spans[reader].says = spans[reader].outer = true;
        }
      if (spans[i].reads) open.push_back(i);
    }
  }

  // The stretch that open spans make of the time from `from` to `to`; outer spans that name an activity of
  // the whole (compiling, input) speak for all they enclose.
  static void add(std::vector<Stretch>& out, const std::vector<HostSpan>& open, int64_t from, int64_t to) {
    if (from >= to || open.empty()) return;
    Stretch stretch{from, to, Activity::kOther, open.back().row};
    const auto outer =
        std::find_if(open.begin(), open.end(), [](const HostSpan& span) { return span.outer; });
    if (outer != open.end()) {
      stretch.activity = outer->activity;
      stretch.span = outer->row;
    } else if (open.back().says) {
      stretch.activity = open.back().activity;
    }
    out.push_back(stretch);
  }

  static std::vector<Stretch> flatten(const std::vector<HostSpan>& spans) {
    std::vector<Stretch> out;
    std::vector<HostSpan> open;
    int64_t time = 0;
    auto close_until = [&](int64_t limit) {
      while (!open.empty() && open.back().end_ns <= limit) {
        add(out, open, time, open.back().end_ns);
        time = std::max(time, open.back().end_ns);
        open.pop_back();
      }
    };
    for (HostSpan span : spans) {
      close_until(span.start_ns);
      add(out, open, time, span.start_ns);
      time = std::max(time, span.start_ns);
      if (!open.empty()) span.end_ns = std::min(span.end_ns, open.back().end_ns);
      open.push_back(span);
    }
    close_until(std::numeric_limits<int64_t>::max());
    return out;
  }

  // Where several threads are at work the one that began last counts; a thread that says what it does goes
  // before one that does not (it may wait for the other).
  static std::vector<Stretch> merge(const std::vector<std::vector<Stretch>>& lanes) {
    std::vector<Stretch> all;
    for (const std::vector<Stretch>& lane : lanes) all.insert(all.end(), lane.begin(), lane.end());
    std::stable_sort(all.begin(), all.end(),
                     [](const Stretch& a, const Stretch& b) { return a.start_ns < b.start_ns; });
    if (lanes.size() > 1) all = overlay(all);
    return with_holes(all);
  }

  static std::vector<Stretch> overlay(const std::vector<Stretch>& all) {
    std::vector<int64_t> cuts;
    for (const Stretch& stretch : all) {
      cuts.push_back(stretch.start_ns);
      cuts.push_back(stretch.end_ns);
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<Stretch> out, open;
    std::size_t next = 0;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      std::erase_if(open, [&](const Stretch& stretch) { return stretch.end_ns <= cuts[i]; });
      while (next < all.size() && all[next].start_ns <= cuts[i]) open.push_back(all[next++]);
      const Stretch* best = nullptr;
      for (const Stretch& stretch : open)
        if (best == nullptr || (stretch.activity != Activity::kOther) >= (best->activity != Activity::kOther))
          best = &stretch;
      if (best != nullptr) out.push_back({cuts[i], cuts[i + 1], best->activity, best->span});
    }
    return out;
  }

  // Fills the time in which no thread had a span open, and joins neighbours of one kind.
  static std::vector<Stretch> with_holes(const std::vector<Stretch>& stretches) {
    std::vector<Stretch> out;
    auto append = [&](const Stretch& stretch) {
      if (!out.empty() && out.back().end_ns == stretch.start_ns && out.back().activity == stretch.activity &&
          out.back().span == stretch.span)
        out.back().end_ns = stretch.end_ns;
      else
        out.push_back(stretch);
    };
    for (const Stretch& stretch : stretches) {
      if (!out.empty() && out.back().end_ns < stretch.start_ns)
        append({out.back().end_ns, stretch.start_ns, Activity::kOther, kNothing});
      append(stretch);
    }
    return out;
  }

  // What is first put on the device after `time` is a copy from the host: what came before made its data.
  bool feeds_a_copy(int64_t time) const {
    constexpr int kLaunchesLookedAt = 2;
    auto at = std::lower_bound(timeline_.calls.begin(), timeline_.calls.end(), time,
                               [](const HostCall& call, int64_t wanted) { return call.start_ns < wanted; });
    for (int seen = 0; at != timeline_.calls.end() && seen < kLaunchesLookedAt; ++at) {
      if (at->kind != CallKind::kLaunch || at->works == 0) continue;
      const Work& work = timeline_.works[timeline_.launched[at->first_work]];
      if (work.kind == WorkKind::kCopyToDevice && work.ns() > 5'000) return true;
      ++seen;
    }
    return false;
  }

  bool is_operator(const Stretch& stretch) const {
    return stretch.span != kNothing && trace_.spans.category[stretch.span] == Category::kOperator;
  }

  // What was last put on the device before `time` is a large copy to the host: operators of the host that run
  // now work on what was copied.
  bool follows_a_copy(int64_t time) const {
    auto at = std::upper_bound(timeline_.calls.begin(), timeline_.calls.end(), time,
                               [](int64_t wanted, const HostCall& call) { return wanted < call.start_ns; });
    while (at != timeline_.calls.begin()) {
      --at;
      if (at->kind != CallKind::kLaunch || at->works == 0) continue;
      return timeline_.works[timeline_.launched[at->first_work]].kind == WorkKind::kCopyToHost &&
             copy_activity(trace_, timeline_, *at) == Activity::kCopy;
    }
    return false;
  }

  void name_long_stretches() {
    for (Stretch& stretch : result_.stretches) {
      if (stretch.activity != Activity::kOther) continue;
      if (stretch.ns() < kLongStretchNs)
        stretch.activity = Activity::kIssue;
      else if (feeds_a_copy(stretch.end_ns))
        stretch.activity = Activity::kInput;
      else if (is_operator(stretch) && follows_a_copy(stretch.start_ns))
        stretch.activity = Activity::kCopy;
    }
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  std::vector<std::optional<Activity>> named_;
  std::vector<std::pair<uint32_t, Activity>> copy_calls_;  // calls that wait for their copy, by row
  HostActivity result_;
};

}  // namespace

Cause activity_cause(Activity activity) {
  switch (activity) {
    case Activity::kIssue:
      return Cause::kLaunch;
    case Activity::kWait:
      return Cause::kHostSync;
    case Activity::kAllocate:
      return Cause::kAllocator;
    case Activity::kCopy:
      return Cause::kHostCopy;
    case Activity::kCompile:
      return Cause::kCompile;
    case Activity::kInput:
      return Cause::kInput;
    case Activity::kIo:
      return Cause::kIo;
    case Activity::kCommunicate:
      return Cause::kComm;
    case Activity::kOther:
      break;
  }
  return Cause::kHostOther;
}

Activity named_activity(std::string_view name) {
  if (name.starts_with("c10d::") || name.starts_with("nccl:")) return Activity::kCommunicate;
  if (speaks_of_itself(name)) return Activity::kIssue;
  std::string lower(name);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  for (const NamedActivity& row : kWords)
    if (lower.find(row.word) != std::string::npos) return row.activity;
  return Activity::kIssue;
}

void HostActivity::divide(int64_t from, int64_t to, int64_t (&ns)[kActivityCount]) const {
  std::fill(std::begin(ns), std::end(ns), 0);
  if (from >= to) return;
  int64_t left = to - from;
  auto at = std::upper_bound(stretches.begin(), stretches.end(), from,
                             [](int64_t time, const Stretch& stretch) { return time < stretch.end_ns; });
  for (; at != stretches.end() && at->start_ns < to; ++at) {
    const int64_t part = std::min(to, at->end_ns) - std::max(from, at->start_ns);
    ns[static_cast<std::size_t>(at->activity)] += part;
    left -= part;
  }
  ns[static_cast<std::size_t>(Activity::kOther)] += left;
}

const Stretch* HostActivity::longest(int64_t from, int64_t to, Activity activity) const {
  const Stretch* best = nullptr;
  auto at = std::upper_bound(stretches.begin(), stretches.end(), from,
                             [](int64_t time, const Stretch& stretch) { return time < stretch.end_ns; });
  for (; at != stretches.end() && at->start_ns < to; ++at)
    if (at->activity == activity && (best == nullptr || at->ns() > best->ns())) best = &*at;
  return best;
}

int64_t HostActivity::recorded_between(int64_t from, int64_t to) const {
  if (from >= to) return 0;
  return std::lower_bound(recorded_starts.begin(), recorded_starts.end(), to) -
         std::lower_bound(recorded_starts.begin(), recorded_starts.end(), from);
}

bool ends_a_copy(const RankTimeline& timeline, std::size_t call) {
  constexpr int64_t kAtOnceNs = 5'000;
  if (call == 0) return false;
  const HostCall &wait = timeline.calls[call], &copy = timeline.calls[call - 1];
  if (wait.kind != CallKind::kWait || copy.kind != CallKind::kLaunch || copy.works != 1) return false;
  const Work& work = timeline.works[timeline.launched[copy.first_work]];
  return work.kind == WorkKind::kCopyToDevice && work.pageable && wait.thread == copy.thread &&
         wait.start_ns - copy.end_ns < kAtOnceNs;
}

Activity copy_activity(const trace::Trace& trace, const RankTimeline& timeline, const HostCall& call) {
  constexpr double kValueBytes = 65536;
  constexpr int64_t kBlockedNs = 30'000;  // launching a copy takes less
  if (call.kind != CallKind::kLaunch || call.works == 0) return Activity::kIssue;
  const Work& work = timeline.works[timeline.launched[call.first_work]];
  if (work.kind != WorkKind::kCopyToDevice && work.kind != WorkKind::kCopyToHost) return Activity::kIssue;
  const bool until_over = call.end_ns >= work.end_ns - 1'000;
  if (!until_over && (!work.pageable || call.end_ns - call.start_ns < kBlockedNs)) return Activity::kIssue;
  const trace::Copy* copy = trace::find_detail(trace.copies, work.span);
  const bool value = copy != nullptr && copy->bytes <= kValueBytes;
  if (value) return work.kind == WorkKind::kCopyToHost ? Activity::kWait : Activity::kIssue;
  return Activity::kCopy;
}

HostActivity host_activity(const trace::Trace& trace, const RankTimeline& timeline) {
  return Flattener(trace, timeline).run();
}

}  // namespace hone::analyze::device
