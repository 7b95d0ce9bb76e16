#include "observe/inject/python_pause.h"

#include <dlfcn.h>

#include "observe/inject/futex.h"
#include "observe/inject/log/output.h"

namespace hone::observe::inject {
namespace {

std::atomic<bool> g_python_was_here{false};

constexpr int64_t kLongestPause = 1'000'000'000;  // ns: whatever becomes of our thread, the program goes on

// Of Python's C interface, where the process has it; any thread may call these.
struct PythonFunctions {
  int (*is_initialized)() = find<int()>("Py_IsInitialized");
  int (*is_finalizing)() = find<int()>("_Py_IsFinalizing");
  int (*add_pending_call)(int (*)(void*), void*) = find<int(int (*)(void*), void*)>("Py_AddPendingCall");

  template <typename Function>
  static Function* find(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  }
};

}  // namespace

bool PythonPause::python_is_here() {
  const PythonFunctions python;
  const bool here = python.add_pending_call && python.is_initialized && python.is_initialized() &&
                    !(python.is_finalizing && python.is_finalizing());
  if (here) g_python_was_here = true;
  return here;
}

bool PythonPause::python_ends() { return !python_is_here() && g_python_was_here; }

bool PythonPause::hold(int64_t patience_ns) {
  if (!python_is_here()) return false;
  state_ = kAsked;
  if (!is_pending_.exchange(true) && PythonFunctions().add_pending_call(stand_still, this) != 0)
    is_pending_ = false;
  const int64_t until = monotonic_ns() + (is_pending_ ? patience_ns : 0);
  for (int64_t left = patience_ns; state_ == kAsked && left > 0; left = until - monotonic_ns())
    futex_wait(state_, kAsked, left, false);
  uint32_t asked = kAsked;
  return !state_.compare_exchange_strong(asked, kFree) && asked == kHeld;
}

void PythonPause::release() {
  state_ = kFree;
  futex_wake_all(state_, false);
}

// On Python's main thread.
int PythonPause::stand_still(void* pause) {
  auto& self = *static_cast<PythonPause*>(pause);
  self.is_pending_ = false;
  uint32_t asked = kAsked;
  if (!self.state_.compare_exchange_strong(asked, kHeld)) return 0;  // it came too late
  futex_wake_all(self.state_, false);
  const int64_t until = monotonic_ns() + kLongestPause;
  for (int64_t left = kLongestPause; self.state_ == kHeld && left > 0; left = until - monotonic_ns())
    futex_wait(self.state_, kHeld, left, false);
  return 0;
}

void PythonPause::in_child() {
  state_ = kFree;
  is_pending_ = false;
}

}  // namespace hone::observe::inject
