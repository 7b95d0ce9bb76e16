// The texts of a process and their numbers. Each is kept as the Name record that the segment gets, so that writing
// is copying, and so that a forked child, which has the numbers but an empty segment, writes them all again.
#pragma once

#include <cstdint>
#include <string_view>

#include "observe/inject/lock.h"
#include "trace/segments/record.h"

namespace hone::observe::inject {

class Names {
 public:
  // The number of `text`; kNoName for an empty one, and where memory or numbers ran out. Texts longer than
  // kLongestName are cut there.
  uint32_t id(std::string_view text);

  // Calls write(begin, bytes) for the records that have not been written, as few times as they lie together.
  // Nobody else may call it at the same time. Names that come meanwhile wait for the next call.
  template <typename Write>
  void write_new(Write write) {
    for (;;) {
      const Span span = next_unwritten();
      if (span.bytes == 0) return;
      write(span.begin, span.bytes);
    }
  }

  void write_all_again();

  Lock& lock() { return lock_; }

 private:
  struct Block;
  struct Span {
    const char* begin;
    uint32_t bytes;
  };
  struct Entry {
    uint32_t hash;
    uint32_t id;
    const trace::segments::Name* name;
  };

  Span next_unwritten();
  const trace::segments::Name* store(uint32_t id, std::string_view text);
  bool grow();
  Entry& entry_of(uint32_t hash, std::string_view text);

  Lock lock_;
  Entry* entries_ = nullptr;  // open addressing, never more than half full
  uint32_t capacity_ = 0, count_ = 0;
  uint64_t bytes_ = 0;
  Block* first_ = nullptr;
  Block* last_ = nullptr;
  Block* unwritten_ = nullptr;  // where the next record to write lies
};

inline constexpr uint32_t kLongestName = 1 << 20;  // the inputs of an optimizer's step over all parameters

}  // namespace hone::observe::inject
