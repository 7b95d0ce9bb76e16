#include "observe/session/segment_tail.h"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace hone::observe {
namespace {

namespace fs = std::filesystem;
namespace segments = trace::segments;

// A file that somebody has blown up must not take all memory.
constexpr std::size_t kMostAtOnce = 16 << 20;

std::string rest_of(const fs::path& path, uint64_t from) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const auto end = static_cast<int64_t>(stream.tellg());
  if (!stream || end <= static_cast<int64_t>(from)) return {};
  std::string bytes(std::min(static_cast<std::size_t>(end) - from, kMostAtOnce), '\0');
  stream.seekg(static_cast<std::streamoff>(from));
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

}  // namespace

void SegmentTail::read(const Visit& visit) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder_, failed), end; !failed && entry != end; entry.increment(failed))
    if (entry->path().extension() == segments::kExtension && !files_.contains(entry->path()) &&
        entry->is_regular_file(failed))  // a pipe would be waited for
      files_.try_emplace(entry->path());
  for (auto& [path, file] : files_)
    while (!file.broken && read_file(path, file, visit)) {
    }
}

bool SegmentTail::read_file(const fs::path& path, File& file, const Visit& visit) {
  // Records are read behind a header, which is the file's own again and again.
  const uint64_t from = file.at;
  const std::string rest = rest_of(path, from), bytes = file.header + rest;
  if (bytes.size() < sizeof(segments::FileHeader)) return false;  // not written yet
  Result<segments::Records> records = segments::Records::open(bytes);
  if (!records.ok()) {
    file.broken = true;
    return false;
  }
  const segments::FileHeader& header = records->header();
  if (file.header.empty()) {
    file.header = bytes.substr(0, header.header_bytes);
    file.at = header.header_bytes;
  }
  while (records->next()) {
    if (records->kind() == segments::Kind::kName)
      if (const auto name = records->as<segments::Name>())
        names_[{header.pid, name->id}] = records->following<segments::Name>().substr(0, name->length);
    visit({header.pid, *records});
  }
  file.at += records->whole_bytes() - file.header.size();
  file.broken = records->end() == segments::SegmentEnd::kDamaged;
  return rest.size() == kMostAtOnce && file.at > from;
}

std::string_view SegmentTail::name(int pid, uint32_t id) const {
  const auto found = names_.find({pid, id});
  return found == names_.end() ? std::string_view() : found->second;
}

}  // namespace hone::observe
