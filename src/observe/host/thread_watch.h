// What a thread of another process is at, as the kernel says without asking the thread: it runs, or which system call it
// waits in, for what, and where in the program that was (/proc/<pid>/task/<tid>/syscall).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/segments/record.h"

namespace hone::observe {

struct ThreadMoment {
  trace::segments::ThreadState state = trace::segments::ThreadState::kUnknown;
  int64_t call = -1;  // the system call that it waits in; -1: none
  // Of a thread that does not run: its registers in the program; 0: not known.
  uint64_t stack_pointer = 0;
  uint64_t instruction = 0;
  uint64_t argument = 0;  // the call's first

  bool waits() const { return instruction != 0; }
  // Nothing happened in between: the same place, with the same stack.
  bool same_place(const ThreadMoment& other) const {
    return waits() && instruction == other.instruction && stack_pointer == other.stack_pointer;
  }
};

// "running", or the number of a call, its six arguments, the stack's and the instruction's pointers. The state of a call that
// may wait for different things is that of the first argument's file, which is not known here: kFile.
ThreadMoment parse_syscall(std::string_view text);

// Not thread-safe.
class ThreadWatch {
 public:
  ThreadWatch(int pid, int tid);
  ~ThreadWatch();
  ThreadWatch(ThreadWatch&& other) noexcept;
  ThreadWatch& operator=(ThreadWatch&&) = delete;

  // kUnknown: the thread is gone, or the system does not say.
  ThreadMoment look();

 private:
  int pid_ = 0;
  int file_ = -1;
};

}  // namespace hone::observe
