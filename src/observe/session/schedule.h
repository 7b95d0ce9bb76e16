// In which order blocks of steps are recorded and left alone.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/segments/record.h"

namespace hone::observe {

struct PlannedBlock {
  trace::segments::Mode mode = trace::segments::Mode::kLeftAlone;
  double steps = 0;    // whole ones that it should hold
  double least_s = 0;  // it lasts at least so long
};

struct Schedule {
  std::vector<PlannedBlock> untouched;  // before anything is recorded
  std::vector<PlannedBlock> blocks;
  uint64_t seed = 0;
};

// Six blocks that are left alone before anything has been recorded come first, if `marks`: what a step takes in them
// is the true step, as nothing of CUPTI has been touched yet (docs/decisions/0023-observing.md). Then six pairs of a recorded block and one that is left alone; six are as many as
// an interval at 95 % needs (core/statistics.h); within each pair the order is random, so that what drifts or repeats
// in the program cannot favour one of them. `steps` are recorded in all; of long ones fewer are left alone, a second's worth a block.
// What costs more follows at the end.
struct ScheduleOptions {
  int steps = 20;
  bool marks = false;    // the program gives marks itself: its steps are known while nothing is recorded
  bool devices = false;  // there is device work to record; without, operators are all that can be recorded
  bool stacks = false;   // sample stacks of the host
  uint64_t seed = 0;
  double step_s = 0;  // 0: not known
};
Schedule make_schedule(const ScheduleOptions& options);

}  // namespace hone::observe
