// What is done to a sample between the data set and its batch: the seam behind which augmentation is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/hash.h"
#include "core/philox.h"
#include "core/result.h"
#include "core/tensor.h"
#include "data/dataset.h"

namespace hone::data {

// The random numbers of one sample in one epoch: a function of (seed, epoch, sample) and of nothing else, so that
// neither the number of workers nor the batch a sample is in changes what becomes of it. Each step of a transform
// has numbers of its own: a step that draws more moves no other.
class SampleRandom {
 public:
  SampleRandom(uint64_t seed, int64_t epoch, int64_t sample)
      : seed_(seed ^ fnv1a("augmentation")),
        stream_(static_cast<uint64_t>(sample)),
        epoch_(static_cast<uint64_t>(epoch)) {}

  // Number `number` (below 2^30) of step `step` (below 64), uniform in [0, 1).
  double uniform(uint64_t step, uint64_t number) const { return philox().uniform(first_of(step) + number); }
  double uniform(uint64_t step, uint64_t number, double low, double high) const {
    return low + (high - low) * uniform(step, number);
  }
  double normal(uint64_t step, uint64_t number) const { return philox().normal(first_of(step) + number); }

  // For loops of their own: the generator, and the first of a step's blocks.
  Philox philox() const { return Philox(seed_, stream_); }
  uint64_t seed() const { return seed_; }
  uint64_t stream() const { return stream_; }
  uint64_t first_of(uint64_t step) const { return epoch_ << 36 | step << 30; }

 private:
  uint64_t seed_, stream_, epoch_;
};

// Thread-safe: samples are transformed by several threads at once.
class Transform {
 public:
  virtual ~Transform() = default;
  // What samples of these fields become. An extent may vary in the result only where it does in `fields`.
  virtual Result<std::vector<Field>> fields(std::span<const Field> fields) const = 0;
  // Writes what becomes of `sample`, whose fields are `fields`, into `out`: dense, of the dtypes of fields() and of
  // the shapes of the batch. An error where the sample's own shapes don't lead there.
  virtual Status apply(const Sample& sample, std::span<const Field> fields, const SampleRandom& random,
                       std::span<const TensorView> out) const = 0;
};

}  // namespace hone::data
