// Where an experiment's own wall time goes: every moment counts as one named phase.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/findings.h"
#include "core/clock.h"

namespace hone::lab {

class PhaseClock {
 public:
  // Time counts as `phase` from now on. Returns the phase before, empty if there was none.
  std::string enter(std::string_view phase) {
    const int64_t now = now_ns();
    if (!current_.empty()) of(current_).seconds += static_cast<double>(now - since_ns_) * 1e-9;
    since_ns_ = now;
    return std::exchange(current_, std::string(phase));
  }
  // Every phase with its time so far, in the order in which they were first entered.
  const std::vector<analyze::PhaseTime>& times() {
    enter(current_);
    return times_;
  }
  // The time of all phases together, so far.
  double seconds() {
    double sum = 0;
    for (const analyze::PhaseTime& phase : times()) sum += phase.seconds;
    return sum;
  }

 private:
  analyze::PhaseTime& of(const std::string& name) {
    for (analyze::PhaseTime& phase : times_) {
      if (phase.name == name) return phase;
    }
    return times_.emplace_back(analyze::PhaseTime{name, 0});
  }

  std::vector<analyze::PhaseTime> times_;
  std::string current_;
  int64_t since_ns_ = 0;
};

}  // namespace hone::lab
