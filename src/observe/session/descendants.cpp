#include "observe/session/descendants.h"

#include <algorithm>
#include <csignal>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "observe/host/process_tree.h"

namespace hone::observe {
namespace {

bool lives(const Descriptor& process) {
  pollfd ended{process.value, POLLIN, 0};
  return ::poll(&ended, 1, 0) == 0;
}

void send_to(const Descriptor& process, int signal) {
  ::syscall(SYS_pidfd_send_signal, process.value, signal, nullptr, 0);
}

}  // namespace

Descendants::Descendants(int root) {
  for (const TreeProcess& process : process_tree(root)) {
    if (process.pid == root) continue;
    auto held = std::make_unique<Descriptor>(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
    if (held->value >= 0) held_.push_back(std::move(held));
  }
}

int Descendants::living() const {
  return static_cast<int>(
      std::count_if(held_.begin(), held_.end(), [](const auto& process) { return lives(*process); }));
}

void Descendants::end(double patience_s) const {
  for (const auto& process : held_)
    if (lives(*process)) send_to(*process, SIGTERM);
  const int64_t end_ns = now_ns() + static_cast<int64_t>(patience_s * 1e9);
  for (const auto& process : held_) {
    pollfd ended{process->value, POLLIN, 0};
    const int64_t left_ms = std::max<int64_t>(0, (end_ns - now_ns()) / 1'000'000);
    if (::poll(&ended, 1, static_cast<int>(left_ms)) == 0) send_to(*process, SIGKILL);
  }
}

}  // namespace hone::observe
