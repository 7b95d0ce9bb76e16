// Loops of the program, seen from the device: the same short sequence of works launched again and again
// within a step, as a Python loop over parameters, experts, time steps or samples does. What repeats is an
// operator's kind; sizes may differ from turn to turn, and with them whether an operator first clears memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

struct Loop {
  uint32_t first = 0;       // into RankTimeline::launched
  uint32_t works = 0;       // in all turns
  uint32_t first_turn = 0;  // works in the first of them
  uint32_t turns = 0;
  int32_t step = trace::kNoStep;
  bool copies = false;  // from the host to the device and nothing else
  // Each turn multiplies or convolves and normalises, as a layer of a network does, which needs the one
  // before.
  bool layers = false;
  std::string name = {};  // "norm, mul" : what one turn launches
};

struct Loops {
  std::vector<Loop> loops;   // by step, then by launch
  std::vector<uint32_t> of;  // by work: index into loops; kNothing: in none

  const Loop* of_work(uint32_t work) const { return of[work] == kNothing ? nullptr : &loops[of[work]]; }
};

// Turns of at most kLongestTurn works, at least kFewestTurns of them in a row; or kFewestInARow where the
// same turns come in a row several times a step, as a loop over heads or experts in every layer, and
// kFewestTurns of them in all, no two launched by one call of an operator. Where turns can be read as longer
// ones, too, the shortest reading counts. O(works × kLongestTurn).
Loops find_loops(const trace::Trace& trace, const RankTimeline& timeline);

inline constexpr uint32_t kLongestTurn = 24;
inline constexpr uint32_t kFewestTurns = 12;
inline constexpr uint32_t kFewestInARow = 6;

}  // namespace hone::analyze::device
