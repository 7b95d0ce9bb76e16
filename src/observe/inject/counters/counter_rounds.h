// Which launch is counted for which group of metrics. All kernels go through the same list of rounds, each of which is for one
// group, and none is a round ahead of one that still comes: all have been counted for a group before one is counted for the next, and
// the hardware is told something else as seldom as can be. A kernel that does not come is not waited for for ever, and when none
// comes any more it is over.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "observe/inject/counters/counter_request.h"

namespace hone::observe::inject {

class CounterRounds {
 public:
  struct Wanted {
    WantedKernel kernel;
    uint32_t counted = 0;           // launches
    std::atomic<size_t> round{0};   // that it is to be counted in next
    std::atomic<bool> seen{false};  // it was launched since begin()
    std::atomic<bool> waited_for{true};
    size_t number = 0;  // of kernels()
  };

  // Groups are numbers from 0 on. Each is counted as often as the kernels want, but only once where `each_once`. By one thread, while
  // no launch is looked at.
  void begin(std::vector<WantedKernel> kernels, size_t groups, bool each_once, int64_t quiet_ns,
             int64_t now_ns);
  // Other groups are to be counted: before the first launch is.
  void change_groups(size_t groups, bool each_once);

  // The kernel with this name and geometry, which is launched now; null: it is not wanted. From any thread, as the next.
  Wanted* find(const char* symbol, const uint32_t* grid, const uint32_t* block, int64_t now_ns);
  // Whether a launch of it is to be counted now.
  bool is_due(const Wanted& wanted, int64_t now_ns) const;
  // It will be counted: for which group. By the thread whose launch it is, one at a time, as is what follows.
  size_t take(const Wanted& wanted);
  // It has been counted; `again`: another launch is to be counted in its place.
  void count(Wanted& wanted, bool again, int64_t now_ns);

  // Everything is counted, as far as kernels come; none has come for so long that none is waited for. From any thread.
  bool done(int64_t now_ns) const;
  bool is_quiet(int64_t now_ns) const { return now_ns - last_seen_ns_ > quiet_ns_; }
  const std::deque<Wanted>& kernels() const { return wanted_; }

 private:
  size_t round()
      const;  // of the kernels that are waited for, the first that one of them has to be counted in
  bool waited_enough(int64_t now_ns) const;

  std::deque<Wanted> wanted_;   // as many from one begin() to the next
  std::vector<size_t> rounds_;  // the group of each
  uint32_t instances_ = 0;
  int64_t quiet_ns_ = 0;
  std::atomic<int64_t> last_seen_ns_{0};
  std::atomic<int64_t> last_count_ns_{0};
};

}  // namespace hone::observe::inject
