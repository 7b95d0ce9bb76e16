#include "trace/import/kineto/memory.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/link/frames.h"

namespace hone::trace::kineto {
namespace {

bool is_of_host(const MemoryOnTrack& each) { return each.row.device < 0; }

// "train.py(31): step" → its file, as Kineto names functions of Python.
std::string_view file_of_function(std::string_view name) { return name.substr(0, name.find('(')); }

// "/home/u/train.py(31): step" → "train.py:31 step".
std::string line_of_function(std::string_view name) {
  const std::size_t open = name.find('('), close = name.find("): ", std::min(open, name.size()));
  if (close == std::string_view::npos) return std::string(name);
  const std::string_view file = name.substr(0, open);
  std::string line(file.substr(file.rfind('/') + 1));
  line += ':';
  line += name.substr(open + 1, close - open - 1);
  line += ' ';
  line += name.substr(close + 3);
  return line;
}

// Who is open on a thread at a moment: asked in order of time.
class OpenSpans {
 public:
  OpenSpans(const Trace& trace, std::vector<uint32_t> rows) : trace_(trace), rows_(std::move(rows)) {}

  MemoryHolder at(int64_t time_ns) {
    for (; next_ < rows_.size() && trace_.spans.start_ns[rows_[next_]] <= time_ns; ++next_) {
      close_until(trace_.spans.start_ns[rows_[next_]]);
      open_.push_back(rows_[next_]);
    }
    close_until(time_ns);
    MemoryHolder holder;
    for (const uint32_t row : open_) {  // the outermost first
      const std::string_view name = trace_.strings.text(trace_.spans.name[row]);
      if (trace_.spans.category[row] == Category::kOperator) {
        holder.inside = name;
        break;
      }
      if (link::frame_owner(FrameKind::kPython, file_of_function(name)) == FrameOwner::kProgram)
        holder.line = line_of_function(name);
    }
    return holder;
  }

 private:
  void close_until(int64_t time_ns) {
    while (!open_.empty() &&
           trace_.spans.start_ns[open_.back()] + trace_.spans.duration_ns[open_.back()] <= time_ns)
      open_.pop_back();
  }

  const Trace& trace_;
  std::vector<uint32_t> rows_, open_;
  std::size_t next_ = 0;
};

class HistoryBuilder {
 public:
  explicit HistoryBuilder(const Trace& trace) : trace_(trace) {}

  AllocatorHistory run(std::vector<MemoryOnTrack> rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const MemoryOnTrack& a, const MemoryOnTrack& b) {
      return a.row.at_ns < b.row.at_ns;
    });
    find_threads(rows);
    for (const MemoryOnTrack& each : rows) {
      MemoryEvent event;
      event.time_ns = std::max<int64_t>(each.row.at_ns, 0);
      event.address = each.row.address;
      event.bytes = std::abs(each.row.bytes);
      event.device = each.row.device;
      event.action = each.row.bytes >= 0 ? MemoryAction::kTake : MemoryAction::kGive;
      event.allocated = each.row.allocated;
      event.reserved = each.row.reserved;
      if (event.action == MemoryAction::kTake) event.holder = holder_of(each);
      history_.events.push_back(event);
    }
    history_.whole = false;
    return std::move(history_);
  }

 private:
  void find_threads(const std::vector<MemoryOnTrack>& rows) {
    std::unordered_map<uint32_t, std::vector<uint32_t>> on_track;
    for (const MemoryOnTrack& each : rows)
      if (each.track.valid()) on_track[each.track.index];
    for (std::size_t row = 0; row < trace_.spans.size(); ++row) {
      const Category category = trace_.spans.category[row];
      if (category != Category::kOperator && category != Category::kFunction) continue;
      const auto at = on_track.find(trace_.spans.track[row].index);
      if (at != on_track.end())
        at->second.push_back(static_cast<uint32_t>(row));  // by start, outer ones first
    }
    for (auto& [track, spans] : on_track) threads_.try_emplace(track, trace_, std::move(spans));
  }

  uint32_t holder_of(const MemoryOnTrack& each) {
    const auto thread = each.track.valid() ? threads_.find(each.track.index) : threads_.end();
    if (thread == threads_.end()) return 0;
    MemoryHolder holder = thread->second.at(each.row.at_ns);
    if (holder.line.empty() && holder.inside.empty()) return 0;
    const auto [known, is_new] = by_text_.try_emplace(holder.line + '\n' + holder.inside,
                                                      static_cast<uint32_t>(history_.holders.size()));
    if (is_new) history_.holders.push_back(std::move(holder));
    return known->second;
  }

  const Trace& trace_;
  AllocatorHistory history_;
  std::unordered_map<uint32_t, OpenSpans> threads_;
  std::unordered_map<std::string, uint32_t> by_text_;
};

}  // namespace

std::shared_ptr<const AllocatorHistory> memory_history(const Trace& trace, std::vector<MemoryOnTrack> rows) {
  if (std::any_of(rows.begin(), rows.end(), [](const MemoryOnTrack& each) { return !is_of_host(each); }))
    std::erase_if(rows, is_of_host);
  if (rows.empty()) return nullptr;
  return std::make_shared<const AllocatorHistory>(HistoryBuilder(trace).run(std::move(rows)));
}

}  // namespace hone::trace::kineto
