// A change that the program makes for us: the first of its threads whose outermost call into CUDA returns makes it. So it is
// made beside no call, as far as callbacks tell of calls; other threads whose calls return meanwhile wait for its end. No
// thread is held where its call begins: its end would not be told if the change were to disable its callback, and
// CUPTI would take all that the thread calls from then on for a part of that call.
#pragma once

#include <atomic>
#include <cstdint>

namespace hone::observe::inject {

class CallGate {
 public:
  using Change = void (*)(void* of);

  // No call is open that is told of: CUPTI has just been attached.
  void begin();

  void want(Change change, void* of);
  // Until the change is made; false: no call returned within `patience_ns`, and it will not be made.
  bool wait(int64_t patience_ns);

  // In each callback of a call of the program, at its beginning or its end, whether within others or not.
  void on_call(bool begins);

  void in_child() { state_ = kOpen; }

 private:
  enum State : uint32_t { kOpen, kWanted, kClosed };

  void make_change();

  Change change_ = nullptr;
  void* of_ = nullptr;
  std::atomic<uint32_t> state_{kOpen};  // futex
  std::atomic<uint32_t> number_{1};     // of attachments: threads count their open calls in each anew
  std::atomic<int> in_calls_{0};        // threads
};

}  // namespace hone::observe::inject
