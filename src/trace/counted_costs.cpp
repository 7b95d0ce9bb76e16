#include "trace/counted_costs.h"

#include <array>

namespace hone::trace {
namespace {

// How long an operation takes at least, against one in f32 without matrix units: roughly, of data-centre GPUs since 2020.
struct ArithmeticRow {
  double CountedFlops::*flops;
  DType dtype;
  bool on_matrix_units;
  double cost;
};
constexpr ArithmeticRow kArithmetic[] = {{&CountedFlops::vector_f32, DType::kF32, false, 1},
                                         {&CountedFlops::vector_f64, DType::kF64, false, 2},
                                         {&CountedFlops::vector_f16, DType::kF16, false, 0.5},
                                         {&CountedFlops::tensor_bf16, DType::kBF16, true, 1. / 15},
                                         {&CountedFlops::tensor_f16, DType::kF16, true, 1. / 15},
                                         {&CountedFlops::tensor_tf32, DType::kF32, true, 1. / 7},
                                         {&CountedFlops::tensor_f64, DType::kF64, true, 1},
                                         {&CountedFlops::tensor_f8, DType::kF8E4M3FN, true, 1. / 30},
                                         {&CountedFlops::tensor_i8, DType::kI8, true, 1. / 30}};

}  // namespace

CountedLaunchCosts::CountedLaunchCosts(const Trace& trace) {
  struct Sums {
    std::array<double, kCounterCount> values = {};
    std::array<uint32_t, kCounterCount> counts = {};
  };
  std::map<Key, Sums> sums;
  for (const KernelCounters& row : trace.counters) {
    Sums& of_key = sums[{row.kernel.index, row.grid, row.block}];
    for (int i = 0; i < kCounterCount; ++i) {
      const auto value = counter_value(row, trace.strings, static_cast<Counter>(i));
      if (!value) continue;
      of_key.values[static_cast<std::size_t>(i)] += *value;
      ++of_key.counts[static_cast<std::size_t>(i)];
    }
  }
  for (const auto& [key, of_key] : sums) {
    const auto value = [&](Counter counter) {
      const auto i = static_cast<std::size_t>(counter);
      return of_key.counts[i] > 0 ? of_key.values[i] / of_key.counts[i] : 0;
    };
    const bool known = of_key.counts[static_cast<std::size_t>(Counter::kDramRead)] > 0 &&
                       of_key.counts[static_cast<std::size_t>(Counter::kDramWritten)] > 0;
    costs_[key] = {counted_flops(value), value(Counter::kDramRead), value(Counter::kDramWritten), known};
  }
}

const CountedCosts* CountedLaunchCosts::find(StringId kernel, const Launch& launch) const {
  const auto at = costs_.find({kernel.index, launch.grid, launch.block});
  return at != costs_.end() && at->second.known ? &at->second : nullptr;
}

MainArithmetic main_arithmetic(const CountedFlops& flops) {
  MainArithmetic main;
  double longest = 0;
  for (const ArithmeticRow& row : kArithmetic)
    if (const double amount = flops.*row.flops; amount * row.cost > longest) {
      longest = amount * row.cost;
      main = {row.dtype, row.on_matrix_units, amount};
    }
  return main;
}

}  // namespace hone::trace
