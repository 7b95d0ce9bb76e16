#include "observe/inject/device/call_gate.h"

#include <ctime>

#include "observe/inject/futex.h"
#include "observe/inject/log/output.h"

namespace hone::observe::inject {
namespace {

constexpr int64_t kLongestClosed = 1'000'000'000;  // ns: whatever becomes of the change, the program goes on
constexpr int64_t kOthersPatience =
    2'000'000;  // ns: a call of another thread may be waiting for this one's work
constexpr int64_t kOthersPeriod = 20'000;

// Calls of this thread into CUDA that are open, of those that are told of.
struct GatedCalls {
  uint32_t number, depth;
};
__thread GatedCalls t_gated = {0, 0};

}  // namespace

void CallGate::begin() {
  in_calls_ = 0;
  ++number_;
}

void CallGate::want(Change change, void* of) {
  change_ = change;
  of_ = of;
  state_ = kWanted;
}

bool CallGate::wait(int64_t patience_ns) {
  const int64_t until = monotonic_ns() + patience_ns;
  for (int64_t left = patience_ns; state_ == kWanted && left > 0; left = until - monotonic_ns())
    futex_wait(state_, kWanted, left, false);
  uint32_t wanted = kWanted;
  if (state_.compare_exchange_strong(wanted, kOpen)) return false;
  while (state_ == kClosed) futex_wait(state_, kClosed, kLongestClosed, false);
  return true;
}

void CallGate::on_call(bool begins) {
  GatedCalls& open = t_gated;
  const uint32_t number = number_;
  if (open.number != number) open = {number, 0};
  if (begins) {
    if (open.depth++ == 0) ++in_calls_;
    return;
  }
  // Of a call that was open when its callback was enabled the end alone is told.
  if (open.depth == 0 || --open.depth > 0) return;
  --in_calls_;
  uint32_t wanted = kWanted;
  if (state_.compare_exchange_strong(wanted, kClosed)) {
    make_change();
  } else if (wanted == kClosed) {
    futex_wait(state_, kClosed, kLongestClosed, false);
  }
}

void CallGate::make_change() {
  const timespec period = {0, kOthersPeriod};
  for (int64_t waited = 0; in_calls_ > 0 && waited < kOthersPatience; waited += kOthersPeriod)
    nanosleep(&period, nullptr);
  change_(of_);
  state_ = kOpen;
  futex_wake_all(state_, false);
}

}  // namespace hone::observe::inject
