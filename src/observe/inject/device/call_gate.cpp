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

}  // namespace

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

void CallGate::call_ended() {
  uint32_t wanted = kWanted;
  if (state_.compare_exchange_strong(wanted, kClosed)) {
    make_change();
  } else if (wanted == kClosed) {
    futex_wait(state_, kClosed, kLongestClosed, false);
  }
}

void CallGate::make_change() {
  const timespec period = {0, kOthersPeriod};
  for (int64_t waited = 0; open_.threads() > 0 && waited < kOthersPatience; waited += kOthersPeriod)
    nanosleep(&period, nullptr);
  change_(of_);
  state_ = kOpen;
  futex_wake_all(state_, false);
}

}  // namespace hone::observe::inject
