// What gathers and scatters (kernels/movement/gather_desc.h) have in common as CUDA kernels: which run of the data each item
// chooses, as text, and the units that runs are moved in.
#pragma once

#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "core/result.h"
#include "kernels/cuda/gather.h"

namespace hone::kernels::gpu {

// What all forms have in common: items, each of which chooses a run of elements by one or more indices.
struct GatherPlan {
  int64_t items = 1;   // how many runs are moved
  int64_t places = 1;  // runs of the data
  int64_t run = 1;     // bytes of one
  DType index_type = DType::kI64;
  std::string locate;  // body of a function: an item's place among the data's runs, -1 where out of range
};

// Units that runs are moved in: their bytes, how many a run has, how many all items have.
struct GatherUnits {
  int64_t bytes = 1, of_run = 1, all = 1;
  std::string type;
};

// Indices of other types, and gathers of nothing, are unsupported.
Result<GatherPlan> checked_plan(const GatherForm& form);
GatherUnits units_of(const GatherPlan& plan);

// The base prelude, constants, and hone_place(), hone_tell() and hone_thread().
std::string gather_prelude(const GatherPlan& plan, const GatherUnits& units);

inline int64_t gather_blocks(int64_t threads) { return (threads + kGatherBlock - 1) / kGatherBlock; }

}  // namespace hone::kernels::gpu
