// Whether a signal was sent to the whole process group or to this process alone, which nothing about a signal says: a process
// in the same group that does nothing but hear signals has it, too, if it was for the group.
#pragma once

#include <vector>

#include <sys/types.h>

namespace hone::apps {

class GroupWitness {
 public:
  // These signals are blocked in the calling thread, which must live as long as this. Where no process can be started, no
  // signal was seen.
  explicit GroupWitness(const std::vector<int>& signals);
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  // To be asked once for each signal that arrived here; waits a moment for the other process. From any thread.
  bool saw(int signal);

 private:
  pid_t pid_ = -1;
  int heard_ = -1;  // a byte for each signal
};

}  // namespace hone::apps
