// Kernels that depend on order along one axis of [outer, length, inner]: arg max and min, cumulative sums,
// top k. f32, f64, i32, i64. NaN counts as the largest value.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels {

struct ArgExtremumDesc {
  int64_t outer = 1, length = 1, inner = 1;
  bool min = false;
  bool last = false;  // among equals the last index, not the first
  DType dtype = DType::kF32;
};

class ArgExtremum {
 public:
  static Result<ArgExtremum> create(const ArgExtremumDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  void execute(const void* in, int64_t* out) const noexcept;  // out: [outer, inner]

 private:
  ArgExtremumDesc desc_;
};

struct CumulativeSumDesc {
  int64_t outer = 1, length = 1, inner = 1;
  bool exclusive = false;
  bool reverse = false;
  DType dtype = DType::kF32;
};

class CumulativeSum {
 public:
  static Result<CumulativeSum> create(const CumulativeSumDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  void execute(const void* in, void* out) const noexcept;  // out may be in

 private:
  CumulativeSumDesc desc_;
};

struct TopKDesc {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t k = 1;  // at most length
  bool largest = true;
  bool sorted = true;  // values in order; among equals the lower index comes first either way
  DType dtype = DType::kF32;
};

class TopK {
 public:
  static Result<TopK> create(const TopKDesc& desc);
  std::size_t scratch_bytes() const { return scratch_per_thread_ * static_cast<std::size_t>(threads_); }
  // `values` and `indices` are [outer, k, inner].
  void execute(const void* in, void* values, int64_t* indices, void* scratch) const noexcept;

 private:
  TopKDesc desc_;
  std::size_t scratch_per_thread_ = 0;
  int threads_ = 1;
};

}  // namespace hone::kernels
