// Reads what hone's own recorder left of a program: the segments of a run folder, one file a process
// (trace/segments/record.h).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

#include "trace/import/imported_file.h"
#include "trace/segments/record.h"

namespace hone::trace::segments {

// A process, and what tells which processes of a program are its ranks.
struct SegmentFile {
  ImportedFile file;
  FileHeader header;
  int64_t first_ns = 0;  // the trace's time 0, on the recorder's clock
  std::size_t device_works = 0;
  std::size_t operators = 0;
};

// Everything before the last whole record; Meta::cut_off says whether more was to come. Errors: no segment, or one in
// which nothing was recorded.
Result<SegmentFile> read_segment(std::string_view bytes);

// Whether segments lie in the folder, or in its folder of segments.
bool holds_segments(const std::filesystem::path& folder);

// The processes of the program that are its ranks (ranks.h). Errors: none of them recorded anything.
Result<std::vector<ImportedFile>> read_segments(const std::filesystem::path& folder);

}  // namespace hone::trace::segments
