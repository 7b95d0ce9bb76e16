// Samples the stacks of all processes of a program, a thousand times a second: of each, the main thread and every thread
// that Python knows.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "observe/host/host_file_writer.h"
#include "observe/host/process_tree.h"
#include "observe/host/python_stacks.h"
#include "observe/host/thread_watch.h"

namespace hone::observe {

class StackSampler {
 public:
  explicit StackSampler(HostFileWriter writer) : writer_(std::move(writer)) {}
  ~StackSampler() { stop(); }

  void watch(int root) { root_ = root; }
  bool can_read_python() const;
  void start();
  void stop();
  // Not while it samples.
  void read_uses(uint32_t block);
  const std::set<std::string>& notes() const { return notes_; }

 private:
  struct Thread {
    ThreadWatch watch;
  };
  struct Process {
    std::optional<PythonStacks> python;
    std::map<int, Thread> threads;
    bool unreadable = false;  // a Python whose frames its own hooks must sample
    bool gone = false;
  };

  void run();
  void find_processes();
  void know(const TreeProcess& process);
  void sample(int pid, Process& process);
  void sample_thread(int pid, int tid, Process& process, const PythonThread* python);

  HostFileWriter writer_;
  int root_ = 0;  // 0: nothing is looked at
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::map<int, Process> processes_;  // that are sampled now
  std::set<int> known_;               // that the file tells
  std::set<std::string> notes_;
};

}  // namespace hone::observe
