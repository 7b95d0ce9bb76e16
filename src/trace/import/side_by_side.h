// Work that threads take in turns: how many there are matters to its time only.
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace hone::trace {

// Calls work(0) here and work(1) to work(count - 1) on threads of their own, or of fewer where the system
// grants no more. An exception of any of them is thrown here when all have ended.
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

}  // namespace hone::trace
