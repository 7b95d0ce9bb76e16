// A segment file as its records, read by nothing but trace/segments/record.h.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "trace/segments/record.h"

namespace hone::observe::testing {

struct RawSegment {
  trace::segments::FileHeader header;
  std::map<uint32_t, std::string> names;
  std::vector<std::string> records;  // bytes of each, without names
  bool whole = false;                // it ends with a record, and its header is right

  template <typename Record>
  std::vector<Record> all() const {
    std::vector<Record> found;
    for (const std::string& bytes : records) {
      Record record;
      trace::segments::Head head;
      bytes.copy(reinterpret_cast<char*>(&head), sizeof(head));
      if (head.kind != trace::segments::kKindOf<Record>) continue;
      bytes.copy(reinterpret_cast<char*>(&record), sizeof(record));
      found.push_back(record);
    }
    return found;
  }

  // "?" for a number that has no name before it was used.
  std::string name(uint32_t id) const;

  template <typename Record>
  std::vector<std::string> names_of(uint32_t Record::*field) const {
    std::vector<std::string> found;
    for (const Record& record : all<Record>()) found.push_back(name(record.*field));
    return found;
  }

  std::vector<std::string> notes() const { return names_of(&trace::segments::Note::text); }
};

RawSegment read_raw_segment(const std::filesystem::path& file);

// All segments of a run folder, by process.
std::vector<RawSegment> read_raw_segments(const std::filesystem::path& run_folder);

}  // namespace hone::observe::testing
