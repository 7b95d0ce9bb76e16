// Another program that wants the CPU of the test.
#pragma once

#include <csignal>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"

namespace hone::testing_support {

inline void compute_for(int64_t ns) {
  const int64_t end = now_ns() + ns;
  while (now_ns() < end) continue;
}

// While it lives, it and the calling thread share one CPU.
class Rival {
 public:
  Rival() {
    ::sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ::sched_setaffinity(0, sizeof(one), &one);
    child_ = ::fork();
    if (child_ == 0)
      for (volatile bool forever = true; forever;) continue;
  }
  ~Rival() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::sched_setaffinity(0, sizeof(before_), &before_);
  }
  Rival(const Rival&) = delete;
  Rival& operator=(const Rival&) = delete;

 private:
  cpu_set_t before_;
  pid_t child_ = -1;
};

}  // namespace hone::testing_support
