#include "tests/observe/raw_segment.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace hone::observe::testing {
namespace segments = trace::segments;

std::string RawSegment::name(uint32_t id) const {
  if (id == segments::kNoName) return "";
  const auto found = names.find(id);
  return found == names.end() ? "?" : found->second;
}

RawSegment read_raw_segment(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  RawSegment segment;
  if (bytes.size() < sizeof(segment.header)) return segment;
  std::memcpy(&segment.header, bytes.data(), sizeof(segment.header));
  size_t at = segment.header.header_bytes;
  while (at + sizeof(segments::Head) <= bytes.size()) {
    segments::Head head;
    std::memcpy(&head, bytes.data() + at, sizeof(head));
    if (head.bytes < sizeof(head) || head.bytes % 8 != 0 || at + head.bytes > bytes.size()) break;
    if (head.kind == segments::Kind::kName) {
      segments::Name name;
      std::memcpy(&name, bytes.data() + at, sizeof(name));
      segment.names[name.id] = bytes.substr(at + sizeof(name), name.length);
    } else {
      segment.records.push_back(bytes.substr(at, head.bytes));
    }
    at += head.bytes;
  }
  segment.whole = at == bytes.size() && segment.header.magic == segments::kMagic;
  return segment;
}

std::vector<RawSegment> read_raw_segments(const std::filesystem::path& run_folder) {
  std::vector<RawSegment> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(run_folder / segments::kFolder, failed)) {
    found.push_back(read_raw_segment(entry.path()));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.header.monotonic_ns < b.header.monotonic_ns; });
  return found;
}

}  // namespace hone::observe::testing
