// The observed program as a child process. It has our standard streams, our terminal and our process group, so
// that to itself and to the user it is as if it had been started by itself.
#pragma once

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "core/result.h"

namespace hone::observe {

struct ProgramStart {
  std::vector<std::string> command = {};  // the program and its arguments; not empty
  std::vector<std::pair<std::string, std::string>> environment = {};  // on top of ours
  std::vector<int> blocked_signals = {};  // that we block and the program must not find blocked
  int standard_output = -1;               // what its standard output is; -1: ours
  int standard_error = -1;                // likewise
};

class Program {
 public:
  // Errors: kNotFound where there is no such program, kInvalidArgument where it cannot be started (no permission, no
  // program at all). The message is for the user.
  static Result<Program> start(const ProgramStart& start);
  Program(Program&& other) noexcept;
  Program& operator=(Program&&) = delete;
  ~Program();  // does not end the program

  int pid() const { return pid_; }
  // How it ended, as shells count: its status, or 128 + the signal. Nothing while it runs.
  std::optional<int> exit_status();
  // Waits at most so long for its end, and returns at once when it comes.
  void wait(double seconds);
  // Does nothing once it has ended. Of all functions this one may be called from any thread.
  void send(int signal) const;
  // Status of a program that could not be started, as shells have it.
  static constexpr int kNotFoundStatus = 127, kNotExecutableStatus = 126;

 private:
  Program(pid_t pid, int descriptor) : pid_(pid), descriptor_(descriptor) {}
  pid_t pid_ = 0;
  int descriptor_ = -1;  // readable once it has ended; -1: the system has none (before Linux 5.3)
  std::optional<int> status_;
};

}  // namespace hone::observe
