// Which kernels take the time of devices, told from what has been written so far: the choice of what counters are measured
// of.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "observe/session/segment_tail.h"

namespace hone::observe {

// All launches of one kernel with one geometry.
struct KernelTime {
  std::string symbol;  // mangled
  uint32_t device = 0;
  std::array<uint32_t, 3> grid = {}, block = {};
  int64_t ns = 0;
  uint64_t launches = 0;
  uint64_t in_graphs = 0;  // of these, by CUDA graphs
};

// One thread.
class KernelTimes {
 public:
  void see(const SegmentRecord& record);
  // What was launched before this time does not count: the program still warmed up.
  void begin(int64_t time_ns) { begin_ns_ = time_ns; }

  // The process whose kernels took longest; 0: there was none.
  int busiest() const;
  // The devices of each process that ran kernels.
  std::map<int, std::vector<uint32_t>> devices() const;
  // Its kernels, the longest first.
  std::vector<KernelTime> kernels(int pid, const SegmentTail& tail) const;

 private:
  struct Key {
    int pid = 0;
    uint32_t device = 0, name = 0;
    std::array<uint32_t, 3> grid = {}, block = {};
    auto operator<=>(const Key&) const = default;
  };
  int64_t begin_ns_ = 0;
  std::map<Key, KernelTime> times_;  // without their symbols
};

// Whether a kernel talks with other devices or the host while it runs. To run such a kernel again, as counting does, may
// wait for ever for an answer that came the first time.
bool communicates(std::string_view kernel);

struct KernelChoice {
  std::vector<KernelTime> counted;
  std::vector<std::string>
      left_out;  // a line a reason: which kernels that were wanted cannot be counted, and why
};

// The kernels to count of those: the first `most` that can be; with a pattern, those of its matches (a regular expression found
// in the symbol or in the C++ name) that take longest. Errors: the pattern is none.
Result<KernelChoice> choose_kernels(const std::vector<KernelTime>& kernels, const std::string& pattern,
                                    std::size_t most);

}  // namespace hone::observe
