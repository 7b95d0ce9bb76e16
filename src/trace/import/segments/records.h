// The records of a segment, one behind the other, as bytes that nobody vouches for: the process may have been killed
// while it wrote. What the records mean is not known here.
#pragma once

#include <cstring>
#include <optional>
#include <string_view>

#include "core/result.h"
#include "trace/segments/record.h"

namespace hone::trace::segments {

// How a segment ends.
enum class SegmentEnd {
  kWhole,        // behind a whole record
  kInTheMiddle,  // of a record
  kZeros,        // in a hole that was never written
  kDamaged,      // in something that is no record
};

class Records {
 public:
  // `bytes` must outlive this. Errors: no segment, or one without a whole header.
  static Result<Records> open(std::string_view bytes);

  const FileHeader& header() const { return header_; }
  // Goes on to the next whole record; false at the end.
  bool next();
  Kind kind() const { return head_.kind; }

  // The record that next() went to, without what a later version appended. Nothing: it is shorter than records of its
  // kind ever were.
  template <typename Record>
  std::optional<Record> as() const {
    static_assert(kIsRecord<Record>);
    if (record_.size() < sizeof(Record)) return std::nullopt;
    Record record;
    std::memcpy(&record, record_.data(), sizeof(Record));
    return record;
  }
  // What follows the structure: the text of a name, the frames of a stack, values of counters; with padding.
  template <typename Record>
  std::string_view following() const {
    return record_.size() < sizeof(Record) ? std::string_view() : record_.substr(sizeof(Record));
  }

  // Once next() has said that there is none: why, and how many bytes from the beginning are whole records. Who reads a
  // segment that grows goes on from there.
  SegmentEnd end() const { return end_; }
  std::size_t whole_bytes() const { return at_; }

 private:
  explicit Records(std::string_view bytes) : bytes_(bytes) {}

  std::string_view bytes_;
  FileHeader header_;
  std::size_t at_ = 0;  // behind the record
  Head head_;
  std::string_view record_;
  SegmentEnd end_ = SegmentEnd::kWhole;
};

}  // namespace hone::trace::segments
