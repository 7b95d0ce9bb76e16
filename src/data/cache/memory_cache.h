// Decoded samples kept in memory, as many as a budget has room for. What once is in stays: epochs take every sample
// once, so that throwing out the longest unused would throw out what is needed next.
#pragma once

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

// Samples of `dataset` until they take `budget_bytes`; the rest are read each time. Damaged samples are not kept.
std::shared_ptr<const CachedDataset> cache_in_memory(std::shared_ptr<const Dataset> dataset,
                                                     int64_t budget_bytes);

}  // namespace hone::data
