// The program of observe/inject/testing under the recorder, without a session: the test itself writes the orders.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "tests/observe/raw_segment.h"

#include "observe/control.h"

namespace hone::observe::testing {

// A run folder with a control page, removed at the end.
class RunFolder {
 public:
  RunFolder();
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  Control& control() { return *control_; }

  void order(trace::segments::Mode mode, uint32_t mark_runtime_call = 0);

 private:
  std::filesystem::path path_;
  Control* control_ = nullptr;
};

class ObservedProgram {
 public:
  // Started with the environment that a session sets, and with `more`. `observed`: false leaves the recorder out.
  explicit ObservedProgram(RunFolder& folder, const std::map<std::string, std::string>& more = {},
                           bool observed = true);
  ~ObservedProgram();
  ObservedProgram(const ObservedProgram&) = delete;
  ObservedProgram& operator=(const ObservedProgram&) = delete;

  // Has it do something and waits until it has; what it printed before its "ok". Empty if it ended.
  std::string perform(const std::string& line);
  // The same without waiting, for what ends it.
  void begin(const std::string& line);

  // Orders a mode and waits until this process has obeyed; false after ten seconds.
  bool order(trace::segments::Mode mode, uint32_t mark_runtime_call = 0);

  void kill(int signal);
  // Ends its input and waits: the exit code, or 128 + the signal that ended it.
  int wait();

  int pid() const { return pid_; }
  Slot* slot();

 private:
  RunFolder& folder_;
  int pid_ = -1, input_ = -1, output_ = -1;
  int status_ = -1;
};

std::string fake_cupti();  // path

// Waits until `condition`, ten seconds at most.
bool eventually(const std::function<bool()>& condition);

}  // namespace hone::observe::testing
