// Reads and writes at indices that are data: Gather, GatherElements, GatherND, ScatterElements, ScatterND.
// Indices are i32 or i64, negative ones count from the end. execute() returns false if one is out of range;
// such an element is written as zeros (gathers) or skipped (scatters), so nothing is read or written outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "kernels/movement/gather_desc.h"

namespace hone::kernels {

class Gather {
 public:
  static Result<Gather> create(const GatherDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  bool execute(const void* data, const void* indices, void* out) const noexcept;

 private:
  GatherDesc desc_;
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
