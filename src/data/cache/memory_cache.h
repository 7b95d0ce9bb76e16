// Decoded samples kept in memory, as many as a budget has room for. What once is in stays: epochs take every sample
// once, so that throwing out the longest unused would throw out what is needed next.
#pragma once

#include <atomic>
#include <memory>

#include "data/dataset.h"

namespace hone::data {

struct CacheCounts {
  int64_t kept = 0, hits = 0, misses = 0;
  int64_t bytes = 0;  // of the samples kept
};

class CachedDataset : public Dataset {
 public:
  virtual CacheCounts counts() const = 0;
};

// Bytes that caches which share it may take together. Thread-safe.
class CacheBudget {
 public:
  explicit CacheBudget(int64_t bytes) : left_(bytes) {}
  // Whether there are so many left, which are taken then.
  bool take(int64_t bytes) {
    int64_t left = left_;
    while (left >= bytes)
      if (left_.compare_exchange_weak(left, left - bytes)) return true;
    return false;
  }
  void give_back(int64_t bytes) { left_ += bytes; }
  int64_t left() const { return left_; }

 private:
  std::atomic<int64_t> left_;
};

// Samples of `dataset` until the budget is used up; the rest are read each time. Damaged samples are not kept.
std::shared_ptr<const CachedDataset> cache_in_memory(std::shared_ptr<const Dataset> dataset,
                                                     std::shared_ptr<CacheBudget> budget);
std::shared_ptr<const CachedDataset> cache_in_memory(std::shared_ptr<const Dataset> dataset,
                                                     int64_t budget_bytes);

}  // namespace hone::data
