// A change that the program makes for us: the first of its threads whose outermost call into CUDA returns makes it. So it is
// made beside no call, as far as callbacks tell of calls; other threads whose calls return meanwhile wait for its end. No
// thread is held where its call begins: its end would not be told if the change were to disable its callback, and
// CUPTI would take all that the thread calls from then on for a part of that call.
#pragma once

#include <atomic>
#include <cstdint>

#include "observe/inject/device/open_calls.h"

namespace hone::observe::inject {

class CallGate {
 public:
  using Change = void (*)(void* of);

  explicit CallGate(const OpenCalls& open) : open_(open) {}

  void want(Change change, void* of);
  // Until the change is made; false: no call returned within `patience_ns`, and it will not be made.
  bool wait(int64_t patience_ns);

  // In the callback in which an outermost call of the program ends.
  void call_ended();

  void in_child() { state_ = kOpen; }

 private:
  enum State : uint32_t { kOpen, kWanted, kClosed };

  void make_change();

  const OpenCalls& open_;
  Change change_ = nullptr;
  void* of_ = nullptr;
  std::atomic<uint32_t> state_{kOpen};  // futex
};

}  // namespace hone::observe::inject
