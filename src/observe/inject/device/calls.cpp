#include "observe/inject/device/calls.h"

namespace hone::observe::inject {
namespace segments = trace::segments;
namespace {

// When the outermost call of this thread began, and in which recorded block.
struct BegunCall {
  uint32_t watch;
  int64_t start_ns;
};
__thread BegunCall t_call = {0, 0};

}  // namespace

void Calls::on_call(OpenCalls::Edge edge, cupti::Domain domain, uint32_t id, const cupti::CallData& call) {
  const uint32_t watch = watch_.load(std::memory_order_relaxed);
  if (edge == OpenCalls::Edge::kOuterBegins)
    t_call = {watch, monotonic_ns()};
  else if (edge == OpenCalls::Edge::kOuterEnds && t_call.watch == watch)
    write(domain, id, call, t_call.start_ns);
}

void Calls::write(cupti::Domain domain, uint32_t id, const cupti::CallData& call, int64_t start_ns) {
  const bool driver = domain == cupti::Domain::kDriver;
  const CallTable& table = driver ? driver_ : runtime_;
  const uint32_t result = call.returned ? *static_cast<const uint32_t*>(call.returned) : 0;
  if (driver) by_driver_.fetch_add(1, std::memory_order_relaxed);
  if (table.launches(id) && result == 0) {
    uint32_t last = last_launch_.load(std::memory_order_relaxed);
    while (last < call.correlation &&
           !last_launch_.compare_exchange_weak(last, call.correlation, std::memory_order_relaxed)) {
    }
  }
  with_call_[call.correlation % kRemembered / 64].fetch_or(1ull << (call.correlation % 64),
                                                           std::memory_order_relaxed);
  ThreadLog* log = output_.log();
  if (!log) return output_.lost(Loss::kHostBuffers, 1);
  log->add(segments::with_head(segments::ApiCall{{},
                                                 start_ns,
                                                 monotonic_ns(),
                                                 log->tid,
                                                 correlations_.ours(call.correlation),
                                                 table.name(id),
                                                 result,
                                                 0}));
}

uint64_t Calls::take_driver_calls() {
  for (std::atomic<uint64_t>& bits : with_call_) bits.store(0, std::memory_order_relaxed);
  return by_driver_.exchange(0);
}

}  // namespace hone::observe::inject
