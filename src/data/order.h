// Which samples each batch of an epoch holds. A pure function of the options: no state, nothing is stored, so a
// resumed run asks for batch 90,000 as cheaply as for the first (docs/decisions/0048-order-and-workers.md).
#pragma once

#include <cstdint>
#include <vector>

#include "data/batches.h"

namespace hone::data {

// A permutation of [0, size) for each epoch, of which single places are computed.
class Permutation {
 public:
  Permutation(uint64_t seed, int64_t size);  // size ≥ 1
  // What stands at `position` of [0, size) in this epoch. O(1), some 200 ns.
  int64_t at(int64_t epoch, int64_t position) const;

 private:
  uint64_t seed_;
  uint64_t size_;
  int half_bits_;
};

struct OrderOptions {
  int64_t batch_size = 1;  // of each rank
  uint64_t seed = 1;
  bool shuffle = true;
  bool keep_short =
      false;  // give the samples of an epoch that fill no batch as a short one; else leave them out
  int64_t rank = 0, ranks = 1;
};

// Ranks share an epoch: batch b of n ranks together are the samples that one rank with n times the batch would
// take. Every rank has the same number of batches, of the same sizes; for a short last batch some samples of the
// epoch's start are given again where the ranks could not share it evenly.
class BatchOrder {
 public:
  // An error where the options make no sense or no batch can be filled.
  static Result<BatchOrder> make(int64_t samples, const OrderOptions& options);

  int64_t batches_per_epoch() const { return batches_; }
  int64_t batch_size() const { return options_.batch_size; }
  // The samples of this rank's batch, `place.batch` in [0, batches_per_epoch()).
  std::vector<int64_t> samples_at(Place place) const;
  Place after(Place place) const;

 private:
  BatchOrder(int64_t samples, const OrderOptions& options);

  OrderOptions options_;
  Permutation permutation_;
  int64_t samples_;
  int64_t batches_;
};

}  // namespace hone::data
