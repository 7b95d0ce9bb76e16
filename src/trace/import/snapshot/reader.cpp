#include "trace/import/snapshot/reader.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "trace/allocator_history.h"
#include "trace/import/snapshot/pickle.h"
#include "trace/link/frames.h"

namespace hone::trace::snapshot {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 50;  // of one device; more is damage
constexpr int64_t kMostMicroseconds = int64_t{1} << 52;

std::optional<MemoryAction> action_of(std::string_view word) {
  constexpr std::pair<std::string_view, MemoryAction> kActions[] = {
      {"alloc", MemoryAction::kTake},
      {"free_requested", MemoryAction::kGive},
      {"segment_alloc", MemoryAction::kReserve},
      {"segment_map", MemoryAction::kReserve},
      {"segment_free", MemoryAction::kRelease},
      {"segment_unmap", MemoryAction::kRelease},
      {"oom", MemoryAction::kOutOfMemory},
  };
  for (const auto& [name, action] : kActions)
    if (name == word) return action;
  return std::nullopt;
}

// "at::_ops::gelu::call(…)" → "aten::gelu". Empty: another function of C++.
std::string operator_of(std::string_view function) {
  constexpr std::string_view kOperators = "at::_ops::", kCall = "::call(";
  if (!function.starts_with(kOperators)) return {};
  function.remove_prefix(kOperators.size());
  const std::size_t call = function.find(kCall);
  return call == std::string_view::npos ? std::string() : fmt::format("aten::{}", function.substr(0, call));
}

// "torch::autograd::generated::MulBackward0::apply(…)" → "MulBackward0": the backward pass runs on a thread without
// Python. Empty: another function of C++.
std::string backward_node(std::string_view function) {
  constexpr std::string_view kNodes = "torch::autograd::generated::", kApply = "::apply(";
  if (!function.starts_with(kNodes)) return {};
  function.remove_prefix(kNodes.size());
  const std::size_t apply = function.find(kApply);
  return apply == std::string_view::npos ? std::string() : std::string(function.substr(0, apply));
}

class SnapshotReader {
 public:
  SnapshotReader(const Pickle& pickle, std::size_t file_bytes)
      : pickle_(pickle), rows_left_(file_bytes / kLeastBytesARow) {}

  AllocatorHistory run() {
    for (const PickleValue& segment : pickle_.items(pickle_.find(pickle_.root(), "segments")))
      if (take_row()) add_segment(segment);
    int32_t device = 0;
    for (const PickleValue& events : pickle_.items(pickle_.find(pickle_.root(), "device_traces"))) {
      for (const PickleValue& event : pickle_.items(events))
        if (take_row()) add_event(event, device);
      ++device;
    }
    std::stable_sort(use_.events.begin(), use_.events.end(),
                     [](const MemoryEvent& a, const MemoryEvent& b) { return a.time_ns < b.time_ns; });
    return std::move(use_);
  }

 private:
  // Lists may stand in a pickle once and be named often: no honest file has more rows than its bytes allow.
  static constexpr std::size_t kLeastBytesARow = 8;
  bool take_row() { return rows_left_ > 0 && rows_left_-- > 0; }

  int64_t bytes_of(const PickleValue& dict, std::string_view key) const {
    const int64_t bytes = pickle_.integer(dict, key);
    return bytes >= 0 && bytes <= kMostBytes ? bytes : 0;
  }

  void add_segment(const PickleValue& from) {
    MemorySegment segment;
    segment.address = static_cast<uint64_t>(pickle_.integer(from, "address"));
    segment.bytes = bytes_of(from, "total_size");
    segment.device = static_cast<int32_t>(std::clamp<int64_t>(pickle_.integer(from, "device"), 0, 1 << 20));
    if (segment.bytes == 0) return;
    uint64_t address = segment.address;
    for (const PickleValue& block : pickle_.items(pickle_.find(from, "blocks"))) {
      if (!take_row()) break;
      MemoryBlock row;
      row.bytes = bytes_of(block, "size");
      row.address = static_cast<uint64_t>(pickle_.integer(block, "address", static_cast<int64_t>(address)));
      row.segment = static_cast<uint32_t>(use_.segments.size());
      row.in_use = pickle_.text(pickle_.find(block, "state")).starts_with("active");
      if (row.in_use) row.holder = holder_of(pickle_.find(block, "frames"));
      address = row.address + static_cast<uint64_t>(row.bytes);
      use_.blocks.push_back(row);
    }
    use_.segments.push_back(segment);
  }

  void add_event(const PickleValue& from, int32_t device) {
    const auto action = action_of(pickle_.text(pickle_.find(from, "action")));
    if (!action) return;
    MemoryEvent event;
    event.action = *action;
    event.device = device;
    event.time_ns = std::clamp<int64_t>(pickle_.integer(from, "time_us"), 0, kMostMicroseconds) * 1000;
    event.address = static_cast<uint64_t>(pickle_.integer(from, "addr"));
    event.bytes = bytes_of(from, "size");
    event.holder = holder_of(pickle_.find(from, "frames"));
    use_.events.push_back(event);
  }

  // Stacks are lists, the innermost frame first; equal ones are one list in the file.
  uint32_t holder_of(const PickleValue& frames) {
    if (!frames.is(PickleKind::kList)) return 0;
    const auto [known, is_new] = by_list_.try_emplace(Pickle::identity(frames), 0);
    if (!is_new) return known->second;
    MemoryHolder holder;
    std::string outermost;  // operator in C++, so far
    for (const PickleValue& frame : pickle_.items(frames)) {
      const std::string_view file = pickle_.text(pickle_.find(frame, "filename"));
      if (!file.ends_with(".py") && !file.starts_with('<')) {
        const std::string_view function = pickle_.text(pickle_.find(frame, "name"));
        if (std::string op = operator_of(function); !op.empty()) outermost = std::move(op);
        if (holder.inside.empty()) holder.inside = backward_node(function);
        continue;
      }
      const bool own = link::frame_owner(FrameKind::kPython, file) == FrameOwner::kProgram;
      if (holder.inside.empty()) holder.inside = own ? outermost : frame_text(frame, file);
      if (!own) continue;
      holder.line = frame_text(frame, file);
      break;
    }
    if (holder.line.empty() && holder.inside.empty()) holder.inside = std::move(outermost);
    const std::pair key(holder.line, holder.inside);
    const auto [same, new_text] =
        by_text_.try_emplace(key.first + '\n' + key.second, static_cast<uint32_t>(use_.holders.size()));
    if (holder.line.empty() && holder.inside.empty()) return known->second = 0;
    if (new_text) use_.holders.push_back(std::move(holder));
    return known->second = same->second;
  }

  std::string frame_text(const PickleValue& frame, std::string_view file) const {
    return fmt::format("{}:{} {}", file.substr(file.rfind('/') + 1), pickle_.integer(frame, "line"),
                       pickle_.text(pickle_.find(frame, "name")));
  }

  const Pickle& pickle_;
  std::size_t rows_left_;
  AllocatorHistory use_;
  std::unordered_map<uint32_t, uint32_t> by_list_;     // holders by the place of their list
  std::unordered_map<std::string, uint32_t> by_text_;  // and by their words
};

}  // namespace

Result<ImportedFile> read_snapshot(std::string_view bytes) {
  HONE_ASSIGN(const Pickle pickle, Pickle::read(bytes));
  if (!pickle.find(pickle.root(), "segments").is(PickleKind::kList))
    return invalid(
        "a Python pickle, but no snapshot of memory; export profiles with prof.export_chrome_trace(FILE), "
        "snapshots with torch.cuda.memory._dump_snapshot(FILE)");
  ImportedFile file;
  auto use = std::make_shared<AllocatorHistory>(SnapshotReader(pickle, bytes.size()).run());
  if (use->segments.empty() && use->events.empty())
    return invalid("a snapshot of memory in which no device has any: take it while the program runs");
  int64_t first_ns = use->events.empty() ? 0 : use->events.front().time_ns;
  for (MemoryEvent& event : use->events) event.time_ns -= first_ns;
  use->whole = false;  // of what the history keeps, the oldest goes first
  file.epoch_ns = first_ns;
  file.bytes = bytes.size();
  Meta& meta = file.trace.meta;
  meta.producer = "PyTorch's allocator";
  meta.framework = Framework::kPyTorch;
  meta.device = "cuda";
  meta.ranks.emplace_back();
  file.trace.memory = std::move(use);
  return file;
}

}  // namespace hone::trace::snapshot
