#include "analyze/device/host/host_spans.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "trace/link/roles.h"

namespace hone::analyze::device {
namespace {

using trace::Category;

// Words in lower case; the first that a name contains decides, and kIssue says that those below do not count.
constexpr trace::NamePattern<Activity> kWords[] = {
    {"compiled", Activity::kIssue},  // running what was compiled
    {"cache lookup", Activity::kIssue},
    {"readback", Activity::kIssue},
    {"profile", Activity::kIssue},  // no file
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
    {"write_", Activity::kIo},
    {"flush", Activity::kIo},
    {"fsync", Activity::kIo},
    {"save_", Activity::kIo},
    {"file", Activity::kIo},
    {"disk", Activity::kIo},
    {"checkpoint_save", Activity::kIo},
    {"torch.save", Activity::kIo},
    {"torch.load", Activity::kIo},
};

// kIssue if the name speaks of nothing else: "enumerate(DataLoader)#…" is kInput. Operators of frameworks are
// named after what they compute: "aten::index_read_" reads no file.
Activity named_activity(std::string_view name) {
  const trace::link::Role role = trace::link::role_of(name, Category::kOperator);
  if (role == trace::link::Role::kCommunication) return Activity::kCommunicate;
  const bool of_framework = role == trace::link::Role::kBackward || role == trace::link::Role::kStepMark;
  if (of_framework || trace::operator_word(name).size() < name.size()) return Activity::kIssue;
  std::string lower(name);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return trace::first_match(activity_words(), lower).value_or(Activity::kIssue);
}

bool is_outer(Activity activity) {
  return activity == Activity::kCommunicate || activity == Activity::kCompile ||
         activity == Activity::kInput || activity == Activity::kIo;
}

// Operators that read a value from the device: all that is in them would go with the read.
bool reads_value(std::string_view name) {
  const trace::OperatorKind what = trace::operator_kind(name);
  return what == trace::OperatorKind::kReadValue || what == trace::OperatorKind::kReadSize;
}

// What a name says, looked at once.
struct NameSays {
  Activity activity = Activity::kIssue;
  bool reads = false;
};

// Readers that wait inside are waiting as a whole.
void mark_readers(std::vector<HostSpan>& spans) {
  std::vector<std::size_t> open;  // readers
  for (std::size_t i = 0; i < spans.size(); ++i) {
    while (!open.empty() && spans[open.back()].end_ns <= spans[i].start_ns) open.pop_back();
    if (spans[i].activity == Activity::kWait) {
      for (std::size_t reader : open) {
        spans[reader].activity = Activity::kWait;
        spans[reader].says = spans[reader].outer = true;
      }
      open.clear();  // marked; a second wait tells nothing new of them
    }
    if (spans[i].reads) open.push_back(i);
  }
}

class HostReader {
 public:
  HostReader(const trace::Trace& trace, const RankTimeline& timeline)
      : trace_(trace), timeline_(timeline), named_(trace.strings.size()) {}

  HostSpans run() {
    find_blocking_copies();
    HostSpans result;
    std::vector<std::vector<HostSpan>>& threads = result.threads;
    threads.resize(timeline_.threads.size());
    std::vector<uint32_t> thread_of(trace_.tracks.size(), kNothing);
    for (uint32_t i = 0; i < timeline_.threads.size(); ++i) thread_of[timeline_.threads[i].index] = i;
    const trace::SpanTable& spans = trace_.spans;
    for (std::size_t row = 0; row < spans.size(); ++row) {
      const uint32_t thread = thread_of[spans.track[row].index];
      if (thread == kNothing || spans.category[row] == Category::kStep) continue;
      if (spans.category[row] == Category::kOperator)
        result.operator_starts.push_back(spans.start_ns[row] + timeline_.clock_shift_ns);
      if (spans.duration_ns[row] > 0) threads[thread].push_back(describe(static_cast<uint32_t>(row)));
    }
    for (std::vector<HostSpan>& list : threads)
      std::stable_sort(list.begin(), list.end(), [](const HostSpan& a, const HostSpan& b) {
        return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
      });
    for (std::vector<HostSpan>& list : threads) mark_readers(list);
    std::sort(result.operator_starts.begin(), result.operator_starts.end());
    return result;
  }

 private:
  NameSays named(trace::StringId name) {
    if (!name.valid()) return {};
    std::optional<NameSays>& known = named_[name.index];
    if (!known) {
      const std::string_view text = trace_.strings.text(name);
      known = NameSays{named_activity(text), reads_value(text)};
    }
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

  HostSpan describe(uint32_t row) {
    const trace::SpanTable& spans = trace_.spans;
    const int64_t start = spans.start_ns[row] + timeline_.clock_shift_ns;
    HostSpan span{start, start + spans.duration_ns[row], row, Activity::kIssue, true};
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
        if (span.activity == Activity::kIssue) span.activity = named(spans.name[row]).activity;
        break;
      case Category::kOperator:
      case Category::kRegion:
      case Category::kFunction:
        span.activity = named(spans.name[row]).activity;
        span.says = span.activity != Activity::kIssue;
        span.outer = is_outer(span.activity);
        span.is_operator = spans.category[row] == Category::kOperator;
        span.reads = span.is_operator && named(spans.name[row]).reads;
        break;
      default:
        span.says = false;
    }
    return span;
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  std::vector<std::optional<NameSays>> named_;
  std::vector<std::pair<uint32_t, Activity>> copy_calls_;  // calls that wait for their copy, by row
};

}  // namespace

std::span<const trace::NamePattern<Activity>> activity_words() { return kWords; }

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

HostSpans host_spans(const trace::Trace& trace, const RankTimeline& timeline) {
  return HostReader(trace, timeline).run();
}

}  // namespace hone::analyze::device
