#include "apps/group_witness.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hone::apps {
namespace {

constexpr int kMomentMs = 100;

// In the child: between fork and its end only what a signal handler may do. It holds nothing of its parent's open, whose
// readers would wait for it, and ends with it.
[[noreturn]] void hear(const sigset_t& signals, int out, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  constexpr int kOut = 0;
  ::dup2(out, kOut);
  ::syscall(SYS_close_range, kOut + 1, ~0U, 0);
  while (::getppid() == parent) {
    const int signal = sigwaitinfo(&signals, nullptr);
    const char byte = static_cast<char>(signal);
    if (signal > 0 && ::write(kOut, &byte, 1) != 1) break;
  }
  ::_exit(0);
}

}  // namespace

GroupWitness::GroupWitness(const std::vector<int>& signals) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) hear(set, ends[1], parent);
  ::close(ends[1]);
  heard_ = ends[0];
}

GroupWitness::~GroupWitness() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (heard_ >= 0) ::close(heard_);
}

bool GroupWitness::saw(int signal) {
  pollfd heard{heard_, POLLIN, 0};
  while (pid_ > 0 && ::poll(&heard, 1, kMomentMs) > 0) {
    char byte = 0;
    if (::read(heard_, &byte, 1) != 1) return false;
    if (byte == static_cast<char>(signal)) return true;
  }
  return false;
}

}  // namespace hone::apps
