// Fills many arrays with seeded normal numbers, on all cores: half a gigabyte of weights in less time than
// writing it takes.
#pragma once

#include <cstdint>
#include <span>

namespace hone::model::zoo {

struct NormalFill {
  std::span<float> values;
  uint64_t stream;  // of the generator: equal streams of equal seeds give equal numbers
  float mean;
  float deviation;
  bool absolute;  // |x| instead of x: variances
};

// The numbers depend on `seed` and the stream alone, not on the threads or on what else is filled.
void fill_normal(std::span<const NormalFill> fills, uint64_t seed);

}  // namespace hone::model::zoo
