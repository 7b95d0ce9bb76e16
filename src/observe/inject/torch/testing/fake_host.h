// Keeps in memory what the recorder of operators would write into a segment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/inject/torch/operators.h"

namespace hone::observe::torch {

struct HostRange {
  uint32_t kind = 0;
  std::string name, inputs;
  int64_t sequence = -1;
  int64_t start_ns = 0, end_ns = 0;
};

class FakeHost {
 public:
  static FakeHost& only() {
    static FakeHost host;
    return host;
  }

  static Host functions() {
    return {+[] { return only().look_at_clock(); },
            +[](const char* text, std::size_t length) {
              return only().intern({text, length});
            },
            +[](uint32_t kind, uint32_t name, uint32_t inputs, int64_t sequence, int64_t start_ns,
                int64_t end_ns) { only().add(kind, name, inputs, sequence, start_ns, end_ns); },
            +[](const char*) {}};
  }

  std::vector<HostRange> take_ranges() {
    const std::lock_guard lock(mutex_);
    return std::exchange(ranges_, {});
  }
  uint64_t interned() const { return interned_; }

 private:
  int64_t look_at_clock() {
    const std::lock_guard lock(mutex_);
    return ++time_ns_;
  }
  uint32_t intern(std::string_view text) {
    const std::lock_guard lock(mutex_);
    ++interned_;
    const auto at = std::find(names_.begin(), names_.end(), text);
    const auto number = static_cast<uint32_t>(at - names_.begin());
    if (at == names_.end()) names_.emplace_back(text);
    return number;
  }
  void add(uint32_t kind, uint32_t name, uint32_t inputs, int64_t sequence, int64_t start_ns,
           int64_t end_ns) {
    const std::lock_guard lock(mutex_);
    ranges_.push_back({kind, names_.at(name), names_.at(inputs), sequence, start_ns, end_ns});
  }

  std::mutex mutex_;
  std::vector<std::string> names_ = {""};  // by number
  std::vector<HostRange> ranges_;
  int64_t time_ns_ = 0;    // one nanosecond passes with each look
  uint64_t interned_ = 0;  // calls
};

}  // namespace hone::observe::torch
