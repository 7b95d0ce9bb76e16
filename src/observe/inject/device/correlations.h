// The numbers that join a call with the work that it launched. CUPTI counts from the beginning when it is attached
// again; ours go on.
#pragma once

#include <atomic>
#include <cstdint>

namespace hone::observe::inject {

class Correlations {
 public:
  uint32_t ours(uint32_t of_cupti) {
    const uint32_t number = base_.load(std::memory_order_relaxed) + of_cupti;
    uint32_t highest = highest_.load(std::memory_order_relaxed);
    while (highest < number && !highest_.compare_exchange_weak(highest, number, std::memory_order_relaxed)) {
    }
    return number;
  }

  void attached_again() { base_ = highest_.load(); }

 private:
  std::atomic<uint32_t> base_{0}, highest_{0};
};

}  // namespace hone::observe::inject
