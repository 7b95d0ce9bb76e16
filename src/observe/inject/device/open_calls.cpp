#include "observe/inject/device/open_calls.h"

namespace hone::observe::inject {
namespace {

constexpr int kPeriodShift = 32;

struct CallsOfThread {
  uint32_t period, depth;
  bool ours;
};
__thread CallsOfThread t_calls = {0, 0, false};

// No two periods of this process are alike, whoever counts.
std::atomic<uint32_t> g_periods{0};

uint32_t period_of(uint64_t inside) { return static_cast<uint32_t>(inside >> kPeriodShift); }

}  // namespace

void OpenCalls::begin_anew() { inside_ = uint64_t{++g_periods} << kPeriodShift; }

OpenCalls::Edge OpenCalls::on_call(bool begins) {
  CallsOfThread& calls = t_calls;
  if (calls.ours) return Edge::kOurs;
  if (calls.period != period_of(inside_)) calls.depth = 0;
  if (begins) {
    if (calls.depth++ > 0) return Edge::kInnerBegins;
    calls.period = period_of(inside_.fetch_add(1));
    return Edge::kOuterBegins;
  }
  if (calls.depth == 0) return Edge::kUnseenEnds;
  if (--calls.depth > 0) return Edge::kInnerEnds;
  leave(calls.period);
  return Edge::kOuterEnds;
}

void OpenCalls::leave(uint32_t period) {
  uint64_t inside = inside_;
  while (period_of(inside) == period && !inside_.compare_exchange_weak(inside, inside - 1)) {
  }
}

OpenCalls::Ours::Ours() { t_calls.ours = true; }
OpenCalls::Ours::~Ours() { t_calls.ours = false; }

}  // namespace hone::observe::inject
