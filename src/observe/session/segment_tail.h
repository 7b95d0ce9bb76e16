// Follows the segments of a run folder while they are written, and hands over each new record once. What records
// mean is for those who read them; the reader of finished segments is trace/import/segments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "trace/import/segments/records.h"

namespace hone::observe {

// A record and the process that wrote it.
struct SegmentRecord {
  int pid = 0;
  const trace::segments::Records& at;  // which next() went to
};

// One thread. Files that cannot be read, and what is no segment, are passed over.
class SegmentTail {
 public:
  using Visit = std::function<void(const SegmentRecord&)>;

  explicit SegmentTail(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Calls `visit` with every record that is whole and was not handed over before, file by file in the order in
  // which they were written.
  void read(const Visit& visit);
  // Text of a Name record that was handed over; empty: none.
  std::string_view name(int pid, uint32_t id) const;

 private:
  struct File {
    std::string header;  // empty: still to be read
    uint64_t at = 0;     // what lies before was handed over
    bool broken = false;
  };
  // Whether there may be more.
  bool read_file(const std::filesystem::path& path, File& file, const Visit& visit);

  std::filesystem::path folder_;
  std::map<std::filesystem::path, File> files_;
  std::map<std::pair<int, uint32_t>, std::string> names_;
};

}  // namespace hone::observe
