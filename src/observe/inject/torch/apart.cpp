#include "observe/inject/torch/apart.h"

#include <array>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hone::observe::torch {
namespace {

// What would show the child to the program or to its user if it crashed.
void hide_child() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (const int signal_number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP})
    signal(signal_number, SIG_DFL);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(signal_number, SIG_IGN);
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int standard : {0, 1, 2})
    if (nowhere >= 0) dup2(nowhere, standard);
}

bool write_all(int to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(to, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

// Ends when the writer has closed its end, or when the time is up.
std::size_t read_until(int from, std::span<std::byte> into, int milliseconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  std::size_t got = 0;
  while (got < into.size()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting = {from, POLLIN, 0};
    if (left <= 0) break;
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t now = read(from, into.data() + got, into.size() - got);
    if (now <= 0) break;
    got += static_cast<std::size_t>(now);
  }
  return got;
}

}  // namespace

Ending run_apart(std::span<std::byte> answer, const std::function<void(std::span<std::byte>)>& work,
                 int milliseconds) {
  std::array<int, 2> channel = {-1, -1};
  if (pipe2(channel.data(), O_CLOEXEC) != 0) return Ending::kNoChild;
  // Not fork(): the program's handlers of it, and its handler of SIGCHLD, are not for this child.
  const long child = syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr);
  if (child == 0) {
    hide_child();
    work(answer);
    _exit(write_all(channel[1], answer) ? 0 : 1);
  }
  close(channel[1]);
  if (child < 0) {
    close(channel[0]);
    return Ending::kNoChild;
  }
  const std::size_t got = read_until(channel[0], answer, milliseconds);
  close(channel[0]);
  kill(static_cast<pid_t>(child), SIGKILL);  // it has answered, or never will
  int status = 0;
  while (waitpid(static_cast<pid_t>(child), &status, __WALL) < 0 && errno == EINTR) {
  }
  if (got == answer.size()) return Ending::kAnswered;
  const bool killed_by_us = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return killed_by_us ? Ending::kSilent : Ending::kCrashed;
}

}  // namespace hone::observe::torch
