// Work that threads take in turns: how many there are matters to its time only.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace hone {

// Calls work(0) here and work(1) to work(count - 1) on threads of their own, or only the first of them where
// the system grants no more. An exception of any of them is thrown here when all have ended.
template <typename Work>
void side_by_side(std::size_t count, Work&& work) {
  if (count == 0) return;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&](std::size_t i) {
    try {
      work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(count);
  try {
    for (std::size_t i = 1; i < count; ++i) helpers.emplace_back(run, i);
  } catch (const std::system_error&) {  // a limit on threads: the others do the work
  }
  run(0);
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
}

// Calls work(i) once for each i below `count`, on no more threads than there are cores, and on this one alone
// where the system grants no other.
template <typename Work>
void each_side_by_side(std::size_t count, Work&& work) {
  const std::size_t cores = std::max(std::thread::hardware_concurrency(), 1u);
  std::atomic<std::size_t> next = 0;
  side_by_side(std::min(count, cores), [&](std::size_t) {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  });
}

}  // namespace hone
