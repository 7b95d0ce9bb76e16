// Segments broken record by record, for tests of what reads them: records lost, doubled and exchanged, and fields that hold
// what no recorder writes. Not part of the product.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/segments/record.h"

namespace hone::trace::segments {

class SegmentMutator {
 public:
  // `whole` is a segment that a recorder might have written.
  SegmentMutator(std::string_view whole, uint32_t seed)
      : header_(whole.substr(0, sizeof(FileHeader))), random_(seed) {
    for (std::size_t at = sizeof(FileHeader); at + sizeof(Head) <= whole.size();) {
      Head head;
      std::memcpy(&head, whole.data() + at, sizeof head);
      records_.emplace_back(whole.substr(at, head.bytes));
      at += head.bytes;
    }
  }

  std::string mutate(int most_changes = 12) {
    for (int i = 1 + below(most_changes); i > 0; --i) change();
    std::string bytes = header_;
    for (const std::string& record : records_) bytes += record;
    if (below(4) == 0) bytes.resize(bytes.size() - static_cast<std::size_t>(below(200)));
    return bytes;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  std::size_t place() { return random_() % records_.size(); }

  void change() {
    const std::size_t at = place();
    switch (below(6)) {
      case 0: {
        const std::size_t count = std::min(records_.size() - at - 1, static_cast<std::size_t>(below(40)));
        const auto from = records_.begin() + static_cast<std::ptrdiff_t>(at);
        records_.erase(from, from + static_cast<std::ptrdiff_t>(count));
        break;
      }
      case 1:
        records_.push_back(records_[at]);
        break;
      case 2:
        std::swap(records_[at], records_[place()]);
        break;
      default:
        set_field(records_[at]);
    }
  }

  // One aligned word behind the head, whole or half.
  void set_field(std::string& record) {
    if (record.size() < sizeof(Head) + 8) return;
    const std::size_t words = (record.size() - sizeof(Head)) / 8;
    const std::size_t at = sizeof(Head) + 8 * (random_() % words);
    const int64_t value = odd_value();
    std::memcpy(record.data() + at, &value, below(2) == 0 ? 8 : 4);
  }

  int64_t odd_value() {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max(),
                      kLeast = std::numeric_limits<int64_t>::min();
    switch (below(7)) {
      case 0:
        return 0;
      case 1:
        return -1;
      case 2:
        return kMost;
      case 3:
        return kLeast;
      case 4:
        return below(8);
      case 5:
        return 10'000'000 + below(100'000'000);  // a time of the recording
      default:
        return static_cast<int64_t>(random_()) << 20;
    }
  }

  std::string header_;
  std::vector<std::string> records_;
  std::mt19937 random_;
};

}  // namespace hone::trace::segments
