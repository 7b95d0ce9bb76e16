#include "trace/import/kineto/event.h"

#include <algorithm>
#include <array>

#include "trace/import/kineto/text.h"
#include "trace/import/runtime_calls.h"

namespace hone::trace::kineto {
namespace {

constexpr int64_t kSyncStreams =
    1'000'000;  // "Stream Sync" rows of a stream stand on a line this far below it

template <typename T>
T number_or_zero(std::string_view token) {
  if (token.empty()) return 0;
  const auto value = integer_of(token);
  return value && *value > 0 ? static_cast<T>(*value) : 0;
}

struct Kind {
  std::string_view category;
  Category means;
  bool on_device = false;
};

// Categories of spans. "cuda_event" marks are points, "Trace" is the recording itself.
constexpr std::array<Kind, 10> kKinds = {{
    {"cpu_op", Category::kOperator},
    {"kernel", Category::kKernel, true},
    {"gpu_memset", Category::kMemset, true},
    {"gpu_memcpy", Category::kMemcpy, true},
    {"user_annotation", Category::kRegion},
    {"gpu_user_annotation", Category::kRegion, true},
    {"python_function", Category::kFunction},
    {"cuda_sync", Category::kSynchronization, true},
    {"overhead", Category::kOverhead},
    {"cuda_profiler_range", Category::kRegion, true},
}};

std::optional<Kind> kind_of(std::string_view category) {
  if (category.ends_with("_runtime") || category.ends_with("_driver"))  // cuda, hip, xpu, …
    return Kind{category, Category::kRuntime};
  for (const Kind& kind : kKinds)
    if (kind.category == category) return kind;
  return std::nullopt;
}

// "Memcpy HtoD (Pageable -> Device)".
MemoryKind memory_kind(std::string_view word) {
  if (word.starts_with("Pageable")) return MemoryKind::kPageable;
  if (word.starts_with("Pinned")) return MemoryKind::kPinned;
  if (word.starts_with("Device")) return MemoryKind::kDevice;
  if (word.starts_with("Managed") || word.starts_with("Unified")) return MemoryKind::kManaged;
  return MemoryKind::kUnknown;
}

}  // namespace

uint32_t EventSink::track(TrackKey key) {
  if (last_track_ != Interner::kNone && key == last_key_) return last_track_;
  const auto [at, added] = track_numbers_.try_emplace(key, static_cast<uint32_t>(tracks_.size()));
  if (added) tracks_.push_back(key);
  last_key_ = key;
  last_track_ = at->second;
  return last_track_;
}

uint32_t EventSink::stream_track(const Event& event) {
  const int64_t device = integer_of(event.device.empty() ? event.pid : event.device).value_or(0);
  int64_t stream = integer_of(event.stream.empty() ? event.tid : event.stream).value_or(-1);
  if (event.stream.empty() && stream >= kSyncStreams && stream < 2 * kSyncStreams) stream -= kSyncStreams;
  if (stream > 0xfffffff0ll) stream = -1;  // "of the whole context", written without a sign
  return track({device, stream, true});
}

uint32_t EventSink::name(std::string_view token) {
  const std::string_view raw = unquoted(token);
  const uint32_t id = raw_names_.intern(raw);
  if (id == text_of_name_.size())
    text_of_name_.push_back(raw.find('\\') == std::string_view::npos ? texts_.intern(raw)
                                                                     : texts_.intern(unescaped(raw)));
  return text_of_name_[id];
}

uint32_t EventSink::inputs(std::string_view members, uint64_t offset) {
  const uint32_t id = raw_inputs_.intern(members);
  if (id == text_of_inputs_.size()) {
    const auto text = inputs_parser_.canonical(members);
    text_of_inputs_.push_back(text ? texts_.intern(*text) : Interner::kNone);
  }
  if (text_of_inputs_[id] == Interner::kNone) faults.unknown_inputs.add(offset, members);
  return text_of_inputs_[id];
}

void EventSink::add(const Event& event, uint64_t offset, std::string_view text) {
  const std::string_view phase = unquoted(event.phase);
  if (phase == "X") return add_span(event, offset, text);
  if (phase == "M") return add_label(event);
  if (phase == "s" || phase == "f") return add_flow(event);
  if (phase == "i" && unquoted(event.name) == "[memory]") return add_memory(event);
  // Other instants, counters, steps of flows and marks of other tools say nothing about where time went.
  if (phase.size() == 1 && std::string_view("iICtPRNODv").find(phase[0]) != std::string_view::npos) return;
  faults.unknown_kind.add(offset, text);
}

void EventSink::add_span(const Event& event, uint64_t offset, std::string_view text) {
  const std::string_view category = unquoted(event.category);
  if (category == "Trace" || category == "cuda_event") return;
  const auto kind = kind_of(category);
  if (!kind) return faults.unknown_kind.add(offset, text);
  const auto start = nanoseconds_of(event.start);
  if (!start) {
    const bool is_number = number_of(unquoted(event.start)).has_value();
    return (is_number ? faults.no_microseconds : faults.no_time).add(offset, text);
  }
  auto duration = nanoseconds_of(event.duration);
  if (!duration) faults.no_duration.add(offset, text);
  if (duration && *duration < 0) faults.negative.add(offset, text);

  EventRow row;
  row.start_ns = *start;
  row.duration_ns = std::max<int64_t>(duration.value_or(0), 0);
  row.correlation = number_or_zero<uint64_t>(event.correlation);
  row.name = name(event.name);
  row.category = kind->means;
  const std::string_view what = texts_.text(row.name);
  if (row.category == Category::kRuntime) row.category = runtime_call_category(what);
  const bool collective =
      row.category == Category::kKernel && (!event.collective.empty() || is_collective_kernel(what));
  if (collective) row.category = Category::kCommunication;
  row.track = kind->on_device
                  ? stream_track(event)
                  : track({integer_of(event.pid).value_or(-1), integer_of(event.tid).value_or(0)});
  const auto at = static_cast<uint32_t>(rows.rows.size());
  rows.rows.push_back(row);
  if (row.category == Category::kOperator) add_call(event, at, offset);
  if (kind->means == Category::kKernel) add_launch(event, at);
  if (collective) add_collective(event, at, what);
  if (row.category == Category::kMemcpy || row.category == Category::kMemset)
    add_copy(event, at, row.category == Category::kMemset);
}

void EventSink::add_call(const Event& event, uint32_t row, uint64_t offset) {
  Call call;
  call.span = row;
  if (!event.inputs.empty()) call.inputs = {inputs(event.inputs, offset)};
  if (!event.sequence.empty()) call.sequence = integer_of(event.sequence).value_or(kNoSequence);
  call.external = number_or_zero<uint64_t>(event.external);
  rows.rows[row].detail = static_cast<uint32_t>(rows.calls.size());
  rows.calls.push_back(call);
}

void EventSink::add_launch(const Event& event, uint32_t row) {
  Launch launch;
  launch.span = row;
  launch.external = number_or_zero<uint64_t>(event.external);
  for (auto [token, sizes] : {std::pair{event.grid, &launch.grid}, std::pair{event.block, &launch.block}}) {
    int64_t numbers[3] = {};
    integers_of(token, numbers, 3);
    for (std::size_t i = 0; i < 3; ++i)
      (*sizes)[i] = static_cast<uint32_t>(std::clamp<int64_t>(numbers[i], 0, 0xffffffff));
  }
  launch.registers = number_or_zero<uint32_t>(event.registers);
  launch.shared_bytes = number_or_zero<uint32_t>(event.shared);
  launch.graph_node = number_or_zero<uint64_t>(event.node);
  rows.rows[row].detail = static_cast<uint32_t>(rows.launches.size());
  rows.launches.push_back(launch);
}

void EventSink::add_collective(const Event& event, uint32_t row, std::string_view kernel) {
  Collective collective;
  collective.span = row;
  collective.name = {event.collective.empty() ? texts_.intern(collective_of_kernel(kernel))
                                              : name(event.collective)};
  if (!event.group.empty()) collective.group = {name(event.group)};
  collective.group_size = number_or_zero<uint32_t>(event.group_size);
  collective.dtype = dtype_of_pytorch(unquoted(event.dtype));
  collective.elements_in = std::max(number_of(event.elements_in).value_or(0), 0.0);
  collective.elements_out = std::max(number_of(event.elements_out).value_or(0), 0.0);
  rows.collectives.push_back(collective);
  if (event.group.empty() || raw_groups_.size() != raw_groups_.intern(unquoted(event.group))) return;
  ProcessGroup& group = groups_.emplace_back();
  group.name = unescaped(unquoted(event.group));
  group.description = unescaped(unquoted(event.group_description));
  std::vector<int64_t> ranks(4096);
  ranks.resize(integers_of(event.group_ranks, ranks.data(), ranks.size()));
  group.ranks.assign(ranks.begin(), ranks.end());
}

void EventSink::add_copy(const Event& event, uint32_t row, bool sets) {
  Copy copy;
  copy.span = row;
  copy.external = number_or_zero<uint64_t>(event.external);
  copy.bytes = std::max(number_of(event.bytes).value_or(0), 0.0);
  const std::string_view what = unquoted(event.name);
  const std::size_t open = what.find('(');
  if (open != std::string_view::npos) {
    const std::size_t arrow = what.find(" -> ", open);
    if (!sets) copy.from = memory_kind(what.substr(open + 1));
    copy.to =
        sets ? memory_kind(what.substr(open + 1))
             : memory_kind(arrow == std::string_view::npos ? std::string_view() : what.substr(arrow + 4));
  }
  rows.rows[row].detail = static_cast<uint32_t>(rows.copies.size());
  rows.copies.push_back(copy);
}

void EventSink::add_flow(const Event& event) {
  if (unquoted(event.category) != "fwdbwd") return;
  const auto at = nanoseconds_of(event.start);
  const auto id = integer_of(event.id);
  if (!at || !id) return;
  const uint32_t where = track({integer_of(event.pid).value_or(-1), integer_of(event.tid).value_or(0)});
  rows.flows.push_back({static_cast<uint64_t>(*id), *at, where, unquoted(event.phase) == "s"});
}

void EventSink::add_memory(const Event& event) {
  constexpr int64_t kMostBytes = int64_t{1} << 50;  // more is damage
  constexpr int64_t kCpu = 0;                       // c10::DeviceType
  const auto at = nanoseconds_of(event.start);
  const auto bytes = integer_of(event.taken);
  if (!at || !bytes || *bytes > kMostBytes || *bytes < -kMostBytes) return;
  const auto total = [&](std::string_view token) {
    return token.empty() ? -1 : std::clamp<int64_t>(integer_of(token).value_or(-1), -1, kMostBytes);
  };
  MemoryRow row;
  row.at_ns = *at;
  row.bytes = *bytes;
  row.address = static_cast<uint64_t>(integer_of(event.address).value_or(0));
  row.allocated = total(event.total_allocated);
  row.reserved = total(event.total_reserved);
  if (integer_of(event.memory_kind).value_or(kCpu) != kCpu)
    row.device =
        static_cast<int32_t>(std::clamp<int64_t>(integer_of(event.memory_device).value_or(0), 0, 1 << 20));
  row.track = track({integer_of(event.pid).value_or(-1), integer_of(event.tid).value_or(0)});
  rows.memory.push_back(row);
}

void EventSink::add_label(const Event& event) {
  const std::string_view what = unquoted(event.name);
  Label label;
  if (what == "process_name")
    label.kind = Label::Kind::kProcess;
  else if (what == "process_labels")
    label.kind = Label::Kind::kProcessLabels;
  else if (what == "thread_name")
    label.kind = Label::Kind::kThread;
  else
    return;
  const auto pid = integer_of(event.pid), tid = integer_of(event.tid);
  if (!pid) return;
  label.pid = *pid;
  label.tid = tid.value_or(0);
  label.text = unescaped(unquoted(event.label));
  while (!label.text.empty() && label.text.back() == ' ') label.text.pop_back();
  labels_.push_back(std::move(label));
}

}  // namespace hone::trace::kineto
