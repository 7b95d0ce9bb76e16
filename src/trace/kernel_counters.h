// What hardware counters said of single launches of kernels: a row a launch that was counted, with what was measured by
// the names that CUPTI and Nsight Compute give it. A launch is counted apart from the timeline, often by running it several
// times; its kernel and geometry say which launches of the timeline it stands for.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "trace/strings.h"

namespace hone::trace {

// "dram__bytes_read.sum": times in nanoseconds, rates per second, shares in percent (0 to 100), all else counts or bytes.
struct CounterValue {
  StringId metric = {};
  double value = 0;  // finite
  friend bool operator==(const CounterValue&, const CounterValue&) = default;
};

struct KernelCounters {
  int rank = 0;
  int device = 0;
  StringId kernel = {};  // as the names of spans have it
  std::array<uint32_t, 3> grid = {};
  std::array<uint32_t, 3> block = {};
  uint32_t registers = 0;            // per thread; 0: not known
  uint32_t shared_bytes = 0;         // per block, static and dynamic
  uint32_t instance = 0;             // counts the counted launches of this kernel in this process
  uint32_t passes = 0;               // how often it ran to be counted; 0: not known
  std::vector<CounterValue> values;  // by metric's StringId, ascending, none twice

  friend bool operator==(const KernelCounters&, const KernelCounters&) = default;
};

// What was measured; nothing if it was not.
std::optional<double> counter_value(const KernelCounters& counters, const StringTable& strings,
                                    std::string_view metric);
// Puts values in order and leaves out what is not finite and all but the first of each metric: what fills a row calls it last.
void order_values(KernelCounters& counters);

// Names in range, values in order and finite: an error names the first row that breaks a rule.
Status check_counters(const std::vector<KernelCounters>& rows, std::size_t strings);

}  // namespace hone::trace
