#include "trace/import/xplane/space.h"

#include <unordered_map>

#include "trace/checked_reader.h"

namespace hone::trace::xplane {
namespace {

constexpr int64_t kMostNs = int64_t{1} << 61;  // 73 years
constexpr int64_t kPicoseconds = 1000;         // in a nanosecond
constexpr std::string_view kMetadataPlane = "/host:metadata", kEnvironmentPlane = "Task Environment";

// A message in a map of the plane: its key stands in the entry, and in the message as well.
struct MapEntry {
  int64_t key = 0;
  std::string_view message;
};

MapEntry read_entry(CheckedReader entry) {
  MapEntry result;
  while (entry.next()) {
    if (entry.tag() == 1)
      result.key = entry.get_int64();
    else if (entry.tag() == 2)
      result.message = entry.get_text();
    else
      entry.skip();
  }
  return result;
}

// A plane in two turns: what its events refer to may stand after them.
class PlaneReader {
 public:
  PlaneReader(ProfileSink& sink, SpaceNotes& notes) : sink_(sink), notes_(notes) {}

  // Throws where the bytes stop being protobuf; what stands before has been handed over.
  void read(std::string_view bytes) {
    bool whole = true;
    try {
      read_tables(bytes);
    } catch (const protozero::exception&) {
      whole = false;
    }
    finish_tables();
    info_.kinds = kinds_;
    sink_.begin_plane(info_);
    CheckedReader message(bytes);
    while (message.next()) {
      if (message.tag() == 3)
        read_line(message.get_text());
      else
        message.skip();
    }
    if (!whole) throw protozero::end_of_buffer_exception();
  }

 private:
  void read_tables(std::string_view bytes) {
    CheckedReader message(bytes);
    while (message.next()) {
      switch (message.tag()) {
        case 2:
          info_.name = message.get_text();
          break;
        case 4:
          kind_entries_.push_back(read_entry(CheckedReader(message.get_text())));
          break;
        case 5:
          read_stat_name(read_entry(CheckedReader(message.get_text())));
          break;
        case 6:
          plane_stats_.push_back(message.get_text());
          break;
        default:
          message.skip();
      }
    }
  }

  void read_stat_name(const MapEntry& entry) {
    CheckedReader message(entry.message);
    std::string_view name;
    while (message.next()) {
      if (message.tag() == 2)
        name = message.get_text();
      else
        message.skip();
    }
    stat_texts_[entry.key] = name;
    stat_names_[entry.key] = stat_name(name);
  }

  void finish_tables() {
    for (const std::string_view stat : plane_stats_) info_.stats.push_back(read_stat(CheckedReader(stat)));
    kinds_.reserve(kind_entries_.size() + 1);
    kinds_.emplace_back();  // of events whose kind is not in the file
    for (const MapEntry& entry : kind_entries_) {
      kind_numbers_[entry.key] = static_cast<uint32_t>(kinds_.size());
      kinds_.push_back(read_kind(CheckedReader(entry.message)));
    }
  }

  EventKind read_kind(CheckedReader message) const {
    EventKind kind;
    while (message.next()) {
      switch (message.tag()) {
        case 2:
          kind.name = message.get_text();
          break;
        case 4:
          kind.display = message.get_text();
          break;
        case 5:
          kind.stats.push_back(read_stat(CheckedReader(message.get_text())));
          break;
        default:
          message.skip();
      }
    }
    return kind;
  }

  Stat read_stat(CheckedReader message) const {
    Stat stat;
    while (message.next()) {
      switch (message.tag()) {
        case 1: {
          const auto at = stat_names_.find(message.get_int64());
          if (at != stat_names_.end()) stat.name = at->second;
          break;
        }
        case 2:
          stat.real = message.get_double();
          stat.is_real = true;
          break;
        case 3:
        case 4:
          stat.integer = static_cast<int64_t>(message.get_uint64());
          break;
        case 5:
        case 6:
          stat.text = message.get_text();
          break;
        case 7: {
          const auto at = stat_texts_.find(static_cast<int64_t>(message.get_uint64()));
          if (at != stat_texts_.end()) stat.text = at->second;
          break;
        }
        default:
          message.skip();
      }
    }
    return stat;
  }

  // Name and time of a line may stand after its events.
  void read_line(std::string_view bytes) {
    LineInfo line;
    std::string_view display;
    int64_t start_ns = 0;
    bool whole = true;
    try {
      for (CheckedReader message(bytes); message.next();) {
        switch (message.tag()) {
          case 1:
            line.id = message.get_int64();
            break;
          case 2:
            line.name = message.get_text();
            break;
          case 3:
            start_ns = message.get_int64();
            break;
          case 11:
            display = message.get_text();
            break;
          default:
            message.skip();
        }
      }
    } catch (const protozero::exception&) {
      whole = false;
    }
    if (line.name.empty()) line.name = display;
    sink_.begin_line(line);
    const bool possible = start_ns >= 0 && start_ns < kMostNs;
    for (CheckedReader message(bytes); message.next();) {
      if (message.tag() != 4)
        message.skip();
      else if (possible)
        read_event(CheckedReader(message.get_text()), start_ns);
      else
        message.skip(), ++notes_.impossible;
    }
    if (!whole) throw protozero::end_of_buffer_exception();
  }

  void read_event(CheckedReader message, int64_t line_ns) {
    uint32_t kind = 0;
    int64_t offset_ps = 0, duration_ps = 0;
    bool counts = false;
    stats_.clear();
    while (message.next()) {
      switch (message.tag()) {
        case 1: {
          const auto at = kind_numbers_.find(message.get_int64());
          kind = at == kind_numbers_.end() ? 0 : at->second;
          break;
        }
        case 2:
          offset_ps = message.get_int64();
          break;
        case 3:
          duration_ps = message.get_int64();
          break;
        case 4:
          stats_.push_back(read_stat(CheckedReader(message.get_text())));
          break;
        case 5:
          counts = true;
          message.skip();
          break;
        default:
          message.skip();
      }
    }
    if (counts) {
      ++notes_.counted;
      return;
    }
    // Rounded by themselves, an event and the one that ends with it end in the same nanosecond.
    const int64_t start = line_ns + offset_ps / kPicoseconds;
    if (start < 0 || duration_ps < 0 || duration_ps / kPicoseconds > kMostNs || start > kMostNs) {
      ++notes_.impossible;
      return;
    }
    const int64_t end = line_ns + offset_ps / kPicoseconds +
                        (offset_ps % kPicoseconds + duration_ps % kPicoseconds) / kPicoseconds +
                        duration_ps / kPicoseconds;
    sink_.add(kind, kinds_[kind], start, end > start ? end - start : 0, stats_);
  }

  ProfileSink& sink_;
  SpaceNotes& notes_;
  PlaneInfo info_;
  std::vector<MapEntry> kind_entries_;
  std::vector<std::string_view> plane_stats_;
  std::unordered_map<int64_t, std::string_view> stat_texts_;
  std::unordered_map<int64_t, StatName> stat_names_;
  std::unordered_map<int64_t, uint32_t> kind_numbers_;
  std::vector<EventKind> kinds_;
  std::vector<Stat> stats_;
};

std::string_view plane_name(std::string_view plane) {
  CheckedReader message(plane);
  while (message.next()) {
    if (message.tag() == 2) return message.get_text();
    message.skip();
  }
  return {};
}

}  // namespace

Result<SpaceNotes> read_space(std::string_view bytes, ProfileSink& sink, const FileProgress& progress) {
  SpaceNotes notes;
  std::vector<std::string_view> first, planes;
  std::string_view rest = bytes;
  try {
    for (CheckedReader message(bytes); message.next();) {
      switch (message.tag()) {
        case 1: {
          const std::string_view plane = message.get_text();
          rest = bytes.substr(static_cast<std::size_t>(plane.data() + plane.size() - bytes.data()));
          std::string_view name;
          try {
            name = plane_name(plane);
          } catch (const protozero::exception&) {  // said when it is read
          }
          (name == kMetadataPlane || name == kEnvironmentPlane ? first : planes).push_back(plane);
          break;
        }
        case 2:
        case 3:
          notes.messages.push_back(message.get_string());
          break;
        default:
          message.skip();
      }
    }
  } catch (const protozero::exception&) {
    notes.cut_off = true;
    // What there is of a plane that ends before its length says.
    std::size_t at = 1;
    while (at < rest.size() && at < 10 && (static_cast<unsigned char>(rest[at]) & 0x80u) != 0) ++at;
    if (!rest.empty() && rest[0] == '\x0a' && at + 1 < rest.size()) planes.push_back(rest.substr(at + 1));
  }
  first.insert(first.end(), planes.begin(), planes.end());
  uint64_t read = 0;
  for (const std::string_view plane : first) {
    if (progress &&
        !progress(static_cast<double>(read) / static_cast<double>(std::max<std::size_t>(bytes.size(), 1))))
      return Error{ErrorCode::kCancelled, "reading was interrupted"};
    try {
      PlaneReader(sink, notes).read(plane);
    } catch (const protozero::exception&) {
      notes.cut_off = true;
    }
    read += plane.size();
  }
  return notes;
}

}  // namespace hone::trace::xplane
