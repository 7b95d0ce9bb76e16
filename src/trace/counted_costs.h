// What hardware counters say that a launch costs: arithmetic as instructions did it, and traffic to DRAM.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/dtype.h"
#include "trace/counter_metrics.h"
#include "trace/details.h"
#include "trace/kernel_counters.h"
#include "trace/trace.h"

namespace hone::trace {

// Operations of one launch: a fused one counts two, as in Nsight Compute's roofline.
struct CountedFlops {
  double vector_f32 = 0, vector_f64 = 0, vector_f16 = 0;
  double tensor_bf16 = 0, tensor_f16 = 0, tensor_tf32 = 0, tensor_f64 = 0, tensor_f8 = 0, tensor_i8 = 0;

  double tensor() const {
    return tensor_bf16 + tensor_f16 + tensor_tf32 + tensor_f64 + tensor_f8 + tensor_i8;
  }
  double all() const { return vector_f32 + vector_f64 + vector_f16 + tensor(); }
};

// `value`: of a counter, 0 where it was not counted.
template <typename Value>
CountedFlops counted_flops(Value value) {
  const auto vector = [&](Counter adds, Counter multiplies, Counter fused) {
    return value(adds) + value(multiplies) + 2 * value(fused);
  };
  CountedFlops flops;
  flops.vector_f32 = vector(Counter::kF32Adds, Counter::kF32Multiplies, Counter::kF32Fused);
  flops.vector_f64 = vector(Counter::kF64Adds, Counter::kF64Multiplies, Counter::kF64Fused);
  flops.vector_f16 = vector(Counter::kF16Adds, Counter::kF16Multiplies, Counter::kF16Fused);
  flops.tensor_bf16 = value(Counter::kTensorBf16);
  flops.tensor_f16 =
      value(Counter::kTensorF16) + value(Counter::kTensorF16ToF16) + value(Counter::kTensorF16ToF32);
  flops.tensor_tf32 = value(Counter::kTensorTf32);
  flops.tensor_f64 = value(Counter::kTensorF64);
  flops.tensor_f8 = value(Counter::kTensorF8);
  flops.tensor_i8 = value(Counter::kTensorI8);
  return flops;
}

// Of each row of the counters: whether it is used. Launches of one kernel and geometry may do different work (products of different
// depth), and what was counted of different launches goes together only where these took about as long: of the most that are
// alike, of equally many the longest.
std::vector<char> alike_launches(const Trace& trace);

// The means of the counted launches of one kernel with one geometry that are alike.
struct CountedCosts {
  CountedFlops flops;
  double bytes_read = 0, bytes_written = 0;  // of DRAM
  bool known = false;                        // traffic to DRAM was counted
};

class CountedLaunchCosts {
 public:
  // O(n log n) in the counted launches.
  explicit CountedLaunchCosts(const Trace& trace);

  bool empty() const { return costs_.empty(); }
  // Of a launch like this one, of any rank; null: none was counted, or not its traffic.
  const CountedCosts* find(StringId kernel, const Launch& launch) const;

 private:
  using Key = std::tuple<uint32_t, std::array<uint32_t, 3>, std::array<uint32_t, 3>>;
  std::map<Key, CountedCosts> costs_;
};

// The part of the arithmetic that the device needs longest for, on any device of the last years: its type, whether matrix units did it,
// and how much of it there is.
struct MainArithmetic {
  DType dtype = DType::kF32;
  bool on_matrix_units = false;
  double flops = 0;
};
MainArithmetic main_arithmetic(const CountedFlops& flops);

}  // namespace hone::trace
