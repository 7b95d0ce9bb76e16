// Batches of samples in an order that depends on a seed alone: what a training step is given.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "data/dataset.h"

namespace hone::data {

// Where a sequence of batches stands, as far as a resumed run must know.
struct Place {
  int64_t epoch = 0;  // from 0
  int64_t batch = 0;  // within the epoch
  friend bool operator==(const Place&, const Place&) = default;
};

struct Batch {
  std::vector<Tensor> tensors;   // field by field, each with the axis of batches in front
  std::vector<int64_t> samples;  // which they are, by their number in the data set
  Place place;
};

// Not thread-safe: one consumer. What is read ahead, and by how many threads, changes no batch.
class Batches {
 public:
  virtual ~Batches() = default;
  virtual std::span<const Field> fields() const = 0;  // as in the batches, without their axis
  virtual int64_t batch_size() const = 0;
  virtual int64_t batches_per_epoch() const = 0;
  // The next batch; after the last of an epoch the first of the next, without end.
  virtual Result<Batch> next() = 0;
  virtual Place place() const = 0;  // of the batch that next() gives next
  // next() gives the batch at `place` next, exactly as if all before had been given.
  virtual Status seek(Place place) = 0;
};

}  // namespace hone::data
