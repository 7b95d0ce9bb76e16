// Batches read one after the other by the thread that asks for them.
#pragma once

#include <memory>
#include <vector>

#include "core/result.h"
#include "data/batches.h"
#include "data/dataset.h"

namespace hone::lab {

struct PlainOptions {
  int64_t batch = 1;
  uint64_t seed = 1;
  bool shuffled = true;
  bool short_last = false;  // an epoch ends with the samples that are left over; else they are left out
};

// An error where the data set has not one whole batch, or samples of different shapes.
Result<std::unique_ptr<data::Batches>> make_plain_batches(std::shared_ptr<const data::Dataset> dataset,
                                                          const PlainOptions& options);

}  // namespace hone::lab
