// Programs whose steps are not alike: most take their time, and every few of them one waits far longer (a queue of batches ran
// empty, an epoch begins). Of these the median step is what nobody pays for: their users wait for the average.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hone::analyze {

// A step of more than that many medians is unlike the others.
inline constexpr double kMuchLonger = 1.3;

struct Stalls {
  std::vector<std::size_t> counted;  // the steps that the mean is of
  int count = 0;                     // those of them that stall
  double typical_ms = 0;             // their median
  double mean_ms = 0;
  // They come again and cost so much that the step that is told is the mean of all; else the median tells more.
  bool recur = false;

  double cost_ms() const { return recur ? mean_ms - typical_ms : 0; }
};

// `times_ms` in order of time; long ones before all others are the program's warm-up. `follows`, of each: false where something else than the program may have held the step up, as where
// a block of a recording begins; such a step neither stalls nor counts for the mean. Empty: all follow.
Stalls find_stalls(std::span<const double> times_ms, std::span<const char> follows = {});

}  // namespace hone::analyze
