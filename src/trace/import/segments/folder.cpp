// The segments of a run folder: which files there are, and what became of each.
#include <algorithm>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "trace/import/segments/host_file.h"
#include "trace/import/segments/ranks.h"
#include "trace/import/segments/reader.h"

namespace hone::trace::segments {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> segments_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == kExtension && entry.is_regular_file(error)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Of a run folder, or of its folder of segments.
std::vector<fs::path> segments_of(const fs::path& folder) {
  std::vector<fs::path> paths = segments_in(folder / kFolder);
  return paths.empty() ? segments_in(folder) : paths;
}

fs::path host_file_of(const fs::path& folder) {
  std::error_code failed;
  const fs::path in_run = folder / kFolder / kHostFile;
  return fs::exists(in_run, failed) ? in_run : folder / kHostFile;
}

// Up to where a file holds nothing but zeros, which end a segment: a disk that was full, or somebody who has blown it up, may
// have left a file larger than memory.
Result<std::string> read_to_hole(const fs::path& path) {
  constexpr std::size_t kPiece = 1 << 20;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return io_error(fmt::format("cannot read '{}'", path.string()));
  std::string bytes, piece(kPiece, '\0');
  while (stream.read(piece.data(), kPiece) || stream.gcount() > 0) {
    piece.resize(static_cast<std::size_t>(stream.gcount()));
    if (piece.find_first_not_of('\0') == std::string::npos) break;
    bytes += piece;
  }
  return bytes;
}

}  // namespace

bool holds_segments(const fs::path& folder) { return !segments_of(folder).empty(); }

Result<std::vector<ImportedFile>> read_segments(const fs::path& folder) {
  std::vector<SegmentFile> read;
  std::string why_none;
  for (const fs::path& path : segments_of(folder)) {
    // Processes may still be writing: what is read is what was there at one moment.
    HONE_ASSIGN(const std::string bytes, read_to_hole(path));
    Result<SegmentFile> segment = read_segment(bytes);
    if (!segment.ok()) {
      if (why_none.empty())
        why_none = fmt::format("'{}', for one: {}", path.filename().string(), segment.error().message);
      continue;
    }
    segment->file.source = path.filename().string();
    read.push_back(std::move(*segment));
  }
  if (read.empty())
    return invalid(fmt::format("nothing was recorded of any process of the program; {}", why_none));
  ChosenRanks chosen = choose_ranks(std::move(read));
  std::error_code failed;
  if (const fs::path path = host_file_of(folder);
      fs::is_regular_file(path, failed))  // a pipe would be waited for
    if (const Result<std::string> host = read_to_hole(path); host.ok()) add_host_file(*host, chosen.files);
  std::vector<ImportedFile> files;
  for (SegmentFile& each : chosen.files) files.push_back(std::move(each.file));
  Meta& first = files.front().trace.meta;
  first.warnings.insert(first.warnings.end(), chosen.warnings.begin(), chosen.warnings.end());
  return files;
}

}  // namespace hone::trace::segments
