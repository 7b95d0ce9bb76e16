// Whether other programs took CPUs that this process wanted while something was measured. A thread that is
// ready to run and has no CPU stands in line; Linux counts that time for each thread, exactly
// (/proc/self/task/*/schedstat: kernel documentation, scheduler/sched-stats). On a quiet machine it is a few
// thousandths of the wall time; one program more on every core makes it a half.
#pragma once

#include <cstdint>
#include <string>

namespace hone {

// How much of a stretch of time was spent in line.
struct ContentionShare {
  double waited = 0;   // the threads' time in line ÷ the wall time, at most 1: where threads meet at
                       // barriers, all wait for the one in line
  bool known = false;  // false: this system does not say (no schedstat)

  // More than a quiet machine's own doings account for: what was measured is not this program's alone.
  static constexpr double kMostWhenQuiet = 0.03;
  bool disturbed() const { return known && waited > kMostWhenQuiet; }

  friend bool operator==(const ContentionShare&, const ContentionShare&) = default;
};

// Measures from its construction on, over all threads of the process. Reading takes some ten microseconds a
// thread: not for inside of what is timed. Not thread-safe.
class ContentionMeter {
 public:
  // Time in line up to `forgiven_ns` counts as none: in stretches of a millisecond, interrupts and the waking
  // of a team's threads would count as much as another program.
  explicit ContentionMeter(int64_t forgiven_ns = 0);
  // Since the construction or the last restart().
  ContentionShare share() const;
  void restart();

 private:
  int64_t forgiven_ns_;
  int64_t start_ns_ = 0;
  int64_t waited_ns_ = 0;  // by then; below 0: not known
};

// "other programs had this process's CPUs for 34 % of the time".
std::string contention_text(const ContentionShare& share);

}  // namespace hone
