// Sleeping until a number changes, with a limit: within this process or between processes that share its memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hone::observe::inject {

inline void futex_wait(const std::atomic<uint32_t>& number, uint32_t while_it_is, int64_t at_most_ns,
                       bool shared) {
  const timespec limit = {at_most_ns / 1'000'000'000, at_most_ns % 1'000'000'000};
  syscall(SYS_futex, &number, shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, while_it_is, &limit, nullptr, 0);
}

inline void futex_wake_all(const std::atomic<uint32_t>& number, bool shared) {
  syscall(SYS_futex, &number, shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, 1 << 30, nullptr, nullptr, 0);
}

}  // namespace hone::observe::inject
