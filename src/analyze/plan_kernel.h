// A kernel that a device runs for an operator of a plan of our own, as its records of replays tell it: launches of plans are in
// no timeline.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace hone::analyze {

struct PlanKernel {
  uint32_t op = 0;   // row of the trace's operator table
  std::string name;  // as the trace's counters have it
  std::array<uint32_t, 3> grid = {}, block = {};
  double ns = 0;  // of one run, the median
};

}  // namespace hone::analyze
