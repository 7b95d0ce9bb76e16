// Reads and writes at indices that are data, as descriptions that the kernels of all providers read: Gather, GatherElements,
// GatherND, ScatterElements, ScatterND. Indices are i32 or i64, negative ones count from the end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "core/shape.h"

namespace hone::kernels {

// out[o, k, i] = data[o, indices[k], i]: rows of an embedding with outer = 1.
struct GatherDesc {
  std::size_t element_size = 4;
  int64_t outer = 1, axis = 1, inner = 1;
  int64_t indices = 0;  // how many
  DType index_type = DType::kI64;
};

// out[i0, …, ia, …] = data[i0, …, indices[i0, …, ia, …], …]; scatter is the other way round, into a copy of
// data that the caller has made.
struct ElementsDesc {
  std::size_t element_size = 4;
  Shape data_shape = {};
  Shape index_shape = {};
  int64_t axis = 0;
  DType index_type = DType::kI64;
};

// Index tuples of `depth` numbers choose slices of `slice` elements after `batch` shared leading positions:
// out[b, k, :] = data[b, indices[b, k, 0..depth), :].
struct GatherNDDesc {
  std::size_t element_size = 4;
  int64_t batch = 1;         // product of the batch axes
  Shape indexed_shape = {};  // the `depth` extents that a tuple addresses
  int64_t tuples = 0;        // per batch position
  int64_t slice = 1;
  DType index_type = DType::kI64;
};

}  // namespace hone::kernels
