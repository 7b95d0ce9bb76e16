// Python's main thread, held between two instructions of its code: it is in no call then, and every thread that needs
// Python's lock waits, too.
#pragma once

#include <atomic>
#include <cstdint>

namespace hone::observe::inject {

class PythonPause {
 public:
  // Whether Python runs in this process; whether it did, and is being taken down or has been.
  static bool python_is_here();
  static bool python_ends();

  // Not on a thread that runs Python. True: the main thread stands still until release(), a second at most; false: it did
  // not come by within `patience_ns`, because it waits or computes elsewhere.
  bool hold(int64_t patience_ns);
  void release();

  void in_child();

 private:
  enum State : uint32_t { kFree, kAsked, kHeld };

  static int stand_still(void* pause);

  std::atomic<uint32_t> state_{kFree};   // futex
  std::atomic<bool> is_pending_{false};  // Python has our call, and has not made it yet
};

}  // namespace hone::observe::inject
