// Which CPUs of the machine this process computes on, and holding a team of threads there.
#pragma once

#include <span>
#include <vector>

#include <sched.h>

namespace hone::kernels {

// The CPUs that the process's affinity mask allows, in order; never empty.
std::vector<int> usable_cpus();

// One CPU of every core among `cpus`: hardware threads of one core share its vector units, which one thread
// of arithmetic fills.
std::vector<int> one_cpu_per_core(std::span<const int> cpus);

// As many threads as computing profits from: the cores that this process may use, or the CPU time that its
// control group grants (a container's limit), whichever is less. At least 1.
int default_thread_count();

// Holds each thread of the calling thread's OpenMP team of `threads` on a core of its own while it lives, if
// that is a thread for every core of the process; a smaller team is left to the operating system, which knows
// what else runs. Why hold them: threads that meet at a barrier every few microseconds lose a time slice at
// each while two of them share a core, which a scheduler with one more busy process to place makes them do.
// What creates threads must not run meanwhile: they would inherit the caller's one core.
class PinnedTeam {
 public:
  explicit PinnedTeam(int threads);
  ~PinnedTeam();
  PinnedTeam(const PinnedTeam&) = delete;
  PinnedTeam& operator=(const PinnedTeam&) = delete;
  bool pinned() const { return !before_.empty(); }

 private:
  std::vector<cpu_set_t> before_;  // the masks to give back, one a thread; empty: nothing was pinned
};

}  // namespace hone::kernels
