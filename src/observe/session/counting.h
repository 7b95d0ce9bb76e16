// What the session has a process count, and what has come of it (docs/decisions/0028-counters.md).
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/result.h"
#include "observe/session/kernel_times.h"
#include "trace/counter_metrics.h"

namespace hone::observe {

struct CountingOptions {
  bool wanted = true;
  trace::CounterSet set = trace::CounterSet::kUsual;
  std::string pattern = {};  // of the kernels to count; empty: those that take most time
  int kernels = 5;           // at most
  int instances = 3;         // of each
  bool lines = false;        // and the source lines that they wait at
  double patience_s = 15;    // until all are counted
};

// The request that a process reads (observe/control.h).
std::string counter_request(const std::vector<KernelTime>& kernels, const CountingOptions& options);
// Writes it where the process looks.
Status write_counter_request(const std::filesystem::path& run_folder, int pid, const std::string& request);

// One thread.
class CountedLaunches {
 public:
  void see(const SegmentRecord& record);
  // How many launches of that kernel this process has counted.
  int of(int pid, const KernelTime& kernel, const SegmentTail& tail) const;

 private:
  using Key = std::tuple<int, uint32_t, uint32_t, std::array<uint32_t, 3>, std::array<uint32_t, 3>>;
  std::map<Key, int> counted_;
};

}  // namespace hone::observe
