// Reads and writes at indices that are data: Gather, GatherElements, GatherND, ScatterElements, ScatterND.
// Indices are i32 or i64, negative ones count from the end. execute() returns false if one is out of range;
// such an element is written as zeros (gathers) or skipped (scatters), so nothing is read or written outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "core/shape.h"

namespace hone::kernels {

// out[o, k, i] = data[o, indices[k], i]: rows of an embedding with outer = 1.
struct GatherDesc {
  std::size_t element_size = 4;
  int64_t outer = 1, axis = 1, inner = 1;
  int64_t indices = 0;  // how many
  DType index_type = DType::kI64;
};

class Gather {
 public:
  static Result<Gather> create(const GatherDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  bool execute(const void* data, const void* indices, void* out) const noexcept;

 private:
  GatherDesc desc_;
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

class GatherElements {
 public:
  static Result<GatherElements> create(const ElementsDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  bool gather(const void* data, const void* indices, void* out) const noexcept;
  // Later updates win where indices repeat; runs on the calling thread to keep that order.
  bool scatter(const void* updates, const void* indices, void* data) const noexcept;

 private:
  template <typename F>
  bool walk(const void* indices, int64_t begin, int64_t end, const F& f) const noexcept;
  ElementsDesc desc_;
  std::vector<int64_t> strides_;  // of data
  int64_t total_ = 0;
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

class GatherND {
 public:
  static Result<GatherND> create(const GatherNDDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  bool gather(const void* data, const void* indices, void* out) const noexcept;
  bool scatter(const void* updates, const void* indices, void* data) const noexcept;

 private:
  int64_t locate(const void* indices, int64_t tuple) const noexcept;  // the slice's place; -1: out of range
  GatherNDDesc desc_;
  int64_t indexed_ = 1;
};

}  // namespace hone::kernels
