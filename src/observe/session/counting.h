// What the session has a process count, and what has come of it (docs/decisions/0028-counters.md).
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "observe/session/kernel_times.h"
#include "trace/counter_metrics.h"

namespace hone::observe {

struct CountingOptions {
  bool wanted = true;
  trace::CounterSet set = trace::CounterSet::kUsual;
  std::string pattern = {};            // of the kernels to count; empty: those that take most time
  int kernels = 5;                     // at most
  int instances = 3;                   // of each, for each group of metrics
  bool lines = false;                  // and the source lines that they wait at
  std::set<std::string> symbols = {};  // no others are counted, nor reported as left out; empty: all may be
  double most_s = 0;                   // that counting may take; 0: as long as that many kernels need

  bool may_count(const std::string& symbol) const { return symbols.empty() || symbols.contains(symbol); }

  // Until so many are counted; after that the session goes on.
  double patience_s(std::size_t chosen) const;
};

// The request that a process reads (observe/control.h). `step_s`: how long a step of the program takes; 0: not known.
std::string counter_request(const std::vector<KernelTime>& kernels, const CountingOptions& options,
                            double step_s);
// Writes it where the process looks.
Status write_counter_request(const std::filesystem::path& run_folder, int pid, const std::string& request);

}  // namespace hone::observe
