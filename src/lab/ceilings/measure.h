// Inside of ceilings: what the parts of a measurement share and fill.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/ceilings/ceilings.h"
#include "lab/ceilings/team.h"

namespace hone::lab::internal {

struct CeilingsRun {
  const Machine& machine;
  bool quick = false;
  std::vector<int> thread_counts = {};                      // 1 and all; only 1 on a single core
  int64_t deadline_ns = 0;                                  // when everything should be measured
  int rates_left = 0;                                       // to be measured until then, this one included
  std::function<Status(const std::string&)> progress = {};  // before each rate
  Ceilings result = {};
  const RoofChoice* only = nullptr;  // null: everything

  bool wants(DType dtype) const;
  bool wants(const std::string& memory_level) const;

  // Time for one rate, or a share of it: the rates to come share what is left of the whole measurement's
  // time.
  SampleBudget budget(double share = 1) const;
  // Counts the samples' repetitions and remembers `what` if it was disturbed too much.
  void account(const Samples& samples, const std::string& what);
};

// Each rate of `roofs` for which `measured` has a higher one.
void take_higher(const Roofs& measured, Roofs& roofs);

// The rates that measure_compute() measures with each number of threads.
int count_compute_rates(const CeilingsRun& run);

Status measure_compute(CeilingsRun& run);
Status measure_memory(CeilingsRun& run);
Status measure_threads(CeilingsRun& run);

}  // namespace hone::lab::internal
