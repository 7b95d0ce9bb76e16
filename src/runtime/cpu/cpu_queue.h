// The CPU's queue: commands run at once on the thread that gives them, with the provider's threads as its
// team.
#pragma once

#include <vector>

#include "runtime/host_device.h"

namespace hone::runtime::cpu {

class CpuQueue : public HostQueue {
 public:
  explicit CpuQueue(int threads) : threads_(threads), lanes_(static_cast<std::size_t>(threads)) {}

  Status copy(void* to, const void* from, std::size_t bytes) override;
  // On a team of the queue's threads, whatever the calling thread's was before and is afterwards.
  Status run(Sequence& sequence) override;
  // One thread each.
  Status fork(int lanes, LaneFunction work, void* context) override;

 private:
  int threads_;
  std::vector<HostQueue> lanes_;
};

}  // namespace hone::runtime::cpu
