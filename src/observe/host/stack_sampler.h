// Samples the stacks of all processes of a program, a thousand times a second: of each, the main thread and every thread
// that Python knows.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "observe/host/host_file_writer.h"
#include "observe/host/native_stacks.h"
#include "observe/host/process_tree.h"
#include "observe/host/python_stacks.h"
#include "observe/host/running_thread.h"
#include "observe/host/thread_watch.h"

namespace hone::observe {

class StackSampler {
 public:
  // `folder`: of segments, whose bytes are not the program's own.
  StackSampler(HostFileWriter writer, std::filesystem::path folder)
      : writer_(std::move(writer)), folder_(std::move(folder)) {}
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
    std::unique_ptr<RunningThread> running;  // null: not permitted
    ThreadMoment last;                       // where it waited, and what its native stack was then
    std::vector<uint64_t> native;
    int64_t ran_ns = 0;  // when it was last seen running, and what its native stack was then
    std::vector<uint64_t> native_running;
  };
  struct Process {
    std::unique_ptr<ProcessMemory> memory;
    std::unique_ptr<NativeStacks> native;  // null: cannot be read
    std::optional<PythonStacks> python;
    std::map<int, Thread> threads;
    bool unreadable = false;  // a Python whose frames its own hooks must sample
    bool gone = false;
    int looks = 0;  // for a Python that it may be yet
  };

  void run();
  void find_processes();
  void open(int pid, Process& process);
  void know(const TreeProcess& process);
  void sample(int pid, Process& process);
  Thread& thread_of(int pid, int tid, Process& process);
  // Addresses of native frames, innermost first.
  std::vector<uint64_t> native_stack(Process& process, Thread& thread, const ThreadMoment& moment);
  // Names the addresses of native frames, which takes longer than taking samples, and writes them all.
  void write_samples();
  void sample_thread(int pid, int tid, Process& process, const PythonThread* python);

  // Until sampling stops.
  struct Taken {
    trace::segments::HostSample sample;
    std::vector<uint32_t> python;
    std::vector<uint64_t> native;
    Process* process = nullptr;
  };

  HostFileWriter writer_;
  std::filesystem::path folder_;
  int root_ = 0;  // 0: nothing is looked at
  std::thread thread_;
  std::atomic<bool> stopping_{false};
  std::map<int, Process> processes_;  // that are sampled now
  std::vector<Taken> taken_;
  std::set<int> known_;  // that the file tells
  std::set<std::string> notes_;
};

}  // namespace hone::observe
