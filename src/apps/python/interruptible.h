// Long work of ours that Python calls: it runs on a thread of its own, which touches nothing of Python, while the calling
// thread waits without the interpreter's lock and looks for signals. So other threads of the program go on, and Ctrl-C
// ends the call at once, whatever the work is at.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include "core/result.h"

namespace hone::apps {

// Whether the work should go on: asked by it from time to time.
using KeepGoing = std::function<bool()>;

inline constexpr std::chrono::milliseconds kLookForSignals{20};

// Counts work that was given up while it ran: the process may not end before it, as it still uses what is taken down
// then.
class GivenUpWork {
 public:
  void begins() {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  void ends() {
    const std::lock_guard lock(mutex_);
    --running_;
    ended_.notify_all();
  }
  void wait(std::chrono::seconds at_most) {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, at_most, [this] { return running_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  int running_ = 0;
};

template <typename T>
struct WorkState {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<Result<T>> result;
  std::atomic<bool> cancelled = false;
};

// Whatever is thrown, as the error that main() makes of it.
template <typename T, typename Work>
Result<T> without_exceptions(const Work& work, const KeepGoing& keep_going) {
  try {
    return work(keep_going);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kIo, "there is not enough memory for it"};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kIo, fmt::format("internal error (please report it): {}", error.what())};
  }
}

// Calls `work(keep_going)`, which returns a Result<T>. Throws what a signal's handler raised (KeyboardInterrupt).
// `given_up` must live as long as the process.
template <typename T, typename Work>
Result<T> run_interruptibly(Work work, GivenUpWork& given_up) {
  auto state = std::make_shared<WorkState<T>>();
  given_up.begins();
  std::thread thread;
  try {
    thread = std::thread([state, work = std::move(work), &given_up] {
      Result<T> result = without_exceptions<T>(work, [&] { return !state->cancelled.load(); });
      {
        const std::lock_guard lock(state->mutex);
        state->result.emplace(std::move(result));
      }
      state->done.notify_all();
      given_up.ends();
    });
  } catch (...) {
    given_up.ends();
    throw;
  }
  while (true) {
    {
      const nanobind::gil_scoped_release release;
      std::unique_lock lock(state->mutex);
      if (state->done.wait_for(lock, kLookForSignals, [&] { return state->result.has_value(); })) break;
    }
    if (PyErr_CheckSignals() != 0) {
      state->cancelled = true;
      thread.detach();
      throw nanobind::python_error();
    }
  }
  {
    const nanobind::gil_scoped_release release;
    thread.join();
  }
  return std::move(*state->result);
}

}  // namespace hone::apps
