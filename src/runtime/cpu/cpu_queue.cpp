#include "runtime/cpu/cpu_queue.h"

#include <cstring>

#include "kernels/cpu/parallel.h"

namespace hone::runtime::cpu {

Status CpuQueue::copy(void* to, const void* from, std::size_t bytes) {
  constexpr int64_t kLeastBytes = 64 << 10;  // worth a thread
  const kernels::TeamSize team(threads_);
  kernels::parallel_for(static_cast<int64_t>(bytes), kLeastBytes, [&](int64_t begin, int64_t end, int) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                static_cast<std::size_t>(end - begin));
  });
  return {};
}

Status CpuQueue::run(Sequence& sequence) {
  const kernels::TeamSize team(threads_);
  return sequence.enqueue(*this);
}

Status CpuQueue::fork(int lanes, LaneFunction work, void* context) {
  struct Work {
    CpuQueue& queue;
    LaneFunction work;
    void* context;
  } all{*this, work, context};
  kernels::run_lanes(
      lanes,
      [](void* given, int lane) {
        const Work& w = *static_cast<Work*>(given);
        w.work(w.context, lane, w.queue.lanes_[static_cast<std::size_t>(lane)]);
      },
      &all);
  return {};
}

}  // namespace hone::runtime::cpu
