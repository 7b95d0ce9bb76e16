#include "trace/import/segments/records.h"

#include <algorithm>

#include <fmt/format.h>

namespace hone::trace::segments {

Result<Records> Records::open(std::string_view bytes) {
  if (!bytes.starts_with(std::string_view(kMagic.data(), kMagic.size())))
    return invalid("not a segment of a recording of hone");
  Records records(bytes);
  // The first version's header is the least; a later one says how much longer it is.
  if (bytes.size() >= sizeof(FileHeader))
    std::memcpy(&records.header_, bytes.data(), sizeof(FileHeader));
  else
    return invalid(
        "a segment that ends before its first record: the process ended before it recorded anything");
  const uint32_t header = records.header_.header_bytes;
  if (header < sizeof(FileHeader) || header > bytes.size())
    return invalid(fmt::format("a segment with a header of {} bytes, which it cannot have", header));
  records.at_ = header;
  return records;
}

bool Records::next() {
  const std::string_view rest = bytes_.substr(at_);
  if (rest.empty()) {
    end_ = SegmentEnd::kWhole;
    return false;
  }
  const std::string_view first = rest.substr(0, sizeof(Head));
  if (std::all_of(first.begin(), first.end(), [](char c) { return c == '\0'; })) {
    end_ = SegmentEnd::kZeros;
    return false;
  }
  end_ = SegmentEnd::kInTheMiddle;
  if (rest.size() < sizeof(Head)) return false;
  std::memcpy(&head_, rest.data(), sizeof(Head));
  if (head_.bytes < sizeof(Head) || head_.bytes % 8 != 0 || head_.kind == Kind::kEnd) {
    end_ = SegmentEnd::kDamaged;
    return false;
  }
  if (head_.bytes > rest.size()) return false;
  record_ = rest.substr(0, head_.bytes);
  at_ += head_.bytes;
  return true;
}

}  // namespace hone::trace::segments
