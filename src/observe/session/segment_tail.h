// Follows the segments of a run folder while they are written, and hands over each new record once. What records
// mean is for those who read them; the reader of finished segments is trace/import/segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trace/segments/record.h"

namespace hone::observe {

// A record as it stands in the file: its head, what belongs to its kind, what follows.
struct SegmentRecord {
  int pid = 0;
  trace::segments::Kind kind = trace::segments::Kind::kEnd;
  std::span<const std::byte> bytes;  // the head included

  // Fields that the writer, of an older version, did not write are as a default record has them.
  template <typename Record>
  Record as() const {
    Record record;
    std::memcpy(static_cast<void*>(&record), bytes.data(), std::min(sizeof record, bytes.size()));
    return record;
  }
};

// One thread. Files that cannot be read, and what is no segment, are passed over.
class SegmentTail {
 public:
  explicit SegmentTail(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Calls `visit` with every record that is whole and was not handed over before, file by file in the order in
  // which they were written.
  void read(const std::function<void(const SegmentRecord&)>& visit);
  // Text of a Name record that was handed over; empty: none.
  std::string_view name(int pid, uint32_t id) const;

 private:
  struct File {
    uint64_t at = 0;  // what lies before was handed over; 0: the header is still to come
    int pid = 0;
    bool broken = false;
  };
  void read_file(const std::filesystem::path& path, File& file,
                 const std::function<void(const SegmentRecord&)>& visit);

  std::filesystem::path folder_;
  std::map<std::filesystem::path, File> files_;
  std::map<std::pair<int, uint32_t>, std::string> names_;
  std::vector<std::byte> buffer_;
};

}  // namespace hone::observe
