// The step of two variants of a program, measured in turn, and what can be said of their ratio.
#pragma once

#include <vector>

#include "core/statistics.h"

namespace hone::lab {

inline constexpr std::size_t kFewestBlocks = 6;

struct PairedRuns {
  std::vector<double> before_ms, after_ms;  // a run, or a block of steps, each
  bool within_one_run = false;              // blocks of one run, in an order drawn for each pair

  double speedup()
      const;  // geometric mean of the pairs' ratios, of blocks their Hodges-Lehmann estimate; 1: none
  double least_speedup() const;  // of the pairs
  double most_speedup() const;
  // One pair of runs says nothing of how far another would be from it.
  bool has_interval() const { return before_ms.size() >= (within_one_run ? kFewestBlocks : 2); }
  // Of the speed-up, without a width where there is none. Of runs: two standard errors around it, where runs of the same differ by `noise` (a share); of blocks:
  // free of assumptions on the noise (signed-rank, the order having been drawn).
  Interval interval(double noise, double level = 0.95) const;
};

// Whether blocks of one run are enough, and what they say. The test looks after 6, 12 and 24 pairs; the error that each look
// allows adds up to some 4 % of changes that change nothing (experiment_test.cpp).
enum class BlocksSay { kGoOn, kFaster, kNotFaster };
// `runs` may hold more pairs than the look is at. `least_gain` is a share of the step that is worth a line.
BlocksSay judge_blocks(const PairedRuns& runs, double least_gain);
// Of a run that has ended: there are no more. Nothing can be said of fewer than kFewestBlocks pairs.
BlocksSay judge_last_blocks(const PairedRuns& runs, double least_gain);

}  // namespace hone::lab
