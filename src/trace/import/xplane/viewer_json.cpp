#include "trace/import/xplane/viewer_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include <simdjson.h>

#include "trace/import/kineto/chunks.h"
#include "trace/import/kineto/text.h"

namespace hone::trace::xplane {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

constexpr double kMostUs = 1e15;  // 31 years

struct ViewerStat {
  StatName name;
  uint32_t text;
};

struct ViewerEvent {
  int64_t pid = 0, tid = 0;
  int64_t start_ns = 0, duration_ns = 0;
  uint32_t name = Interner::kNone, long_name = Interner::kNone;
  uint32_t first_stat = 0, stats = 0;
};

// An event as its members say, before it is known what it is.
struct Members {
  std::string_view phase, name, long_name, label;
  std::optional<int64_t> pid, tid;
  std::optional<double> start_us, duration_us;
};

class ViewerReader {
 public:
  ViewerReader(Interner& texts, ViewerNotes& notes) : texts_(texts), notes_(notes) {}

  void read(const kineto::Chunk& chunk) {
    const simdjson::padded_string_view text(chunk.text.data(), chunk.text.size(),
                                            chunk.text.size() + kineto::kPadding);
    ondemand::document document;
    ondemand::array events;
    error_code error = parser_.iterate(text).get(document);
    if (!error && !chunk.text.empty() && chunk.text.front() == '{')
      error = document.find_field("e").get_array().get(events);
    else if (!error)
      error = document.get_array().get(events);
    if (!error) error = read_events(events);
    if (error && !chunk.last) ++notes_.lost;
    if (error && chunk.last) notes_.cut_off = true;
  }

  void hand_over(ProfileSink& sink) {
    std::stable_sort(events_.begin(), events_.end(), [](const ViewerEvent& a, const ViewerEvent& b) {
      if (a.pid != b.pid) return a.pid < b.pid;
      if (a.tid != b.tid) return a.tid < b.tid;
      if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
      return a.duration_ns > b.duration_ns;
    });
    const ViewerEvent* before = nullptr;
    for (const ViewerEvent& event : events_) {
      const bool new_plane = before == nullptr || before->pid != event.pid;
      if (new_plane) sink.begin_plane({texts_.text(process_names_[event.pid]), {}, {}});
      if (new_plane || before->tid != event.tid)
        sink.begin_line({event.tid, texts_.text(thread_names_[{event.pid, event.tid}])});
      hand_over(event, sink);
      before = &event;
    }
  }

  void name_missing() {
    const uint32_t none = texts_.intern("");
    for (const ViewerEvent& event : events_) {
      process_names_.try_emplace(event.pid, none);
      thread_names_.try_emplace({event.pid, event.tid}, none);
    }
  }

 private:
  error_code read_events(ondemand::array& events) {
    for (auto each : events) {
      ondemand::object object;
      if (const error_code error = each.get_object().get(object)) return error;
      Members members;
      first_stat_ = static_cast<uint32_t>(stats_.size());
      if (const error_code error = read_members(object, members)) {
        stats_.resize(first_stat_);
        return error;
      }
      add(members);
    }
    return simdjson::SUCCESS;
  }

  error_code read_members(ondemand::object& object, Members& members) {
    for (auto each : object) {
      ondemand::field field;
      if (const error_code error = std::move(each).get(field)) return error;
      std::string_view key;
      if (const error_code error = field.unescaped_key().get(key)) return error;
      ondemand::value value = field.value();
      if (key == "args") {
        ondemand::object arguments;
        if (value.get_object().get(arguments)) continue;
        if (const error_code error = read_arguments(arguments, members)) return error;
      } else if (key == "ph") {
        members.phase = text_of(value);
      } else if (key == "name") {
        members.name = text_of(value);
      } else if (key == "pid") {
        members.pid = kineto::integer_of(value.raw_json_token());
      } else if (key == "tid") {
        members.tid = kineto::integer_of(value.raw_json_token());
      } else if (key == "ts") {
        members.start_us = number(value);
      } else if (key == "dur") {
        members.duration_us = number(value);
      }
    }
    return simdjson::SUCCESS;
  }

  error_code read_arguments(ondemand::object& arguments, Members& members) {
    for (auto each : arguments) {
      ondemand::field field;
      if (const error_code error = std::move(each).get(field)) return error;
      std::string_view key;
      if (const error_code error = field.unescaped_key().get(key)) return error;
      ondemand::value value = field.value();
      if (key == "name") {
        members.label = text_of(value);
      } else if (key == "long_name") {
        members.long_name = text_of(value);
      } else if (const StatName name = stat_name(key); name != StatName::kOther) {
        ondemand::json_type type;
        if (const error_code error = value.type().get(type)) return error;
        const std::string_view text =
            type == ondemand::json_type::string ? text_of(value) : std::string_view(value.raw_json_token());
        stats_.push_back({name, texts_.intern(text.substr(0, text.find_last_not_of(" \n\r\t") + 1))});
      }
    }
    return simdjson::SUCCESS;
  }

  static std::string_view text_of(ondemand::value& value) {
    std::string_view text;
    return value.get_string().get(text) ? std::string_view() : text;
  }

  static std::optional<double> number(ondemand::value& value) {
    double us = 0;
    return value.get_double().get(us) ? std::nullopt : std::optional(us);
  }

  void add(const Members& members) {
    if (!members.pid) return drop_stats();
    const int64_t pid = *members.pid, tid = members.tid.value_or(0);
    if (members.phase == "M") {
      if (members.name == "process_name") process_names_[pid] = texts_.intern(members.label);
      if (members.name == "thread_name") thread_names_[{pid, tid}] = texts_.intern(members.label);
      return drop_stats();
    }
    if (members.phase != "X") return drop_stats();
    const double start = members.start_us.value_or(-1), duration = members.duration_us.value_or(0);
    if (!(start >= 0 && start < kMostUs && duration >= 0 && duration < kMostUs)) {
      ++notes_.impossible;
      return drop_stats();
    }
    ViewerEvent event{pid, tid, std::llround(start * 1e3), std::llround(duration * 1e3)};
    event.name = texts_.intern(members.name);
    if (!members.long_name.empty()) event.long_name = texts_.intern(members.long_name);
    event.first_stat = first_stat_;
    event.stats = static_cast<uint32_t>(stats_.size()) - first_stat_;
    events_.push_back(event);
  }

  void drop_stats() { stats_.resize(first_stat_); }

  void hand_over(const ViewerEvent& event, ProfileSink& sink) {
    EventKind kind;
    kind.name = texts_.text(event.name);
    uint32_t kind_id = event.name;
    if (event.long_name != Interner::kNone) {
      kind.display = kind.name;
      kind.name = texts_.text(event.long_name);
      kind_id = event.long_name;
    }
    handed_.clear();
    for (uint32_t i = 0; i < event.stats; ++i) {
      const ViewerStat& stored = stats_[event.first_stat + i];
      Stat stat;
      stat.name = stored.name;
      stat.text = texts_.text(stored.text);
      handed_.push_back(stat);
    }
    sink.add(kind_id, kind, event.start_ns, event.duration_ns, handed_);
  }

  Interner& texts_;
  ViewerNotes& notes_;
  ondemand::parser parser_;
  std::vector<ViewerEvent> events_;
  std::vector<ViewerStat> stats_;
  uint32_t first_stat_ = 0;  // of the event that is being read
  std::vector<Stat> handed_;
  std::map<int64_t, uint32_t> process_names_;
  std::map<std::pair<int64_t, int64_t>, uint32_t> thread_names_;
};

}  // namespace

Result<ViewerNotes> read_viewer(ByteSource& source, Interner& texts, ProfileSink& sink,
                                const FileProgress& progress) {
  ViewerNotes notes;
  kineto::ChunkReader chunks(source);
  HONE_ASSIGN(notes.has_list, chunks.open());
  if (!notes.has_list) return notes;
  ViewerReader reader(texts, notes);
  kineto::Chunk chunk;
  for (;;) {
    HONE_ASSIGN(const bool more, chunks.next(chunk));
    if (!more) break;
    if (progress && !progress(source.progress()))
      return Error{ErrorCode::kCancelled, "reading was interrupted"};
    reader.read(chunk);
  }
  notes.bytes = chunks.bytes_read();
  reader.name_missing();
  reader.hand_over(sink);
  return notes;
}

}  // namespace hone::trace::xplane
