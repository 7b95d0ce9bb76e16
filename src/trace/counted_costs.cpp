#include "trace/counted_costs.h"

#include <algorithm>
#include <array>
#include <cmath>

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

constexpr double kAlikeTime = 0.25, kAlikeNs = 4000;

using Geometry = std::tuple<uint32_t, std::array<uint32_t, 3>, std::array<uint32_t, 3>>;

Geometry geometry_of(const KernelCounters& row) { return {row.kernel.index, row.grid, row.block}; }

bool take_as_long(double a, double b) {
  return std::abs(a - b) <= std::max(kAlikeNs, kAlikeTime * std::min(a, b));
}

// The time that most of them take, about; of equally many, the longest.
double usual_time(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  std::size_t most = 0, end = 0;
  double usual = 0;
  for (std::size_t begin = 0; begin < times.size(); ++begin) {
    while (end < times.size() && take_as_long(times[begin], times[end])) ++end;
    if (end - begin >= most) {
      most = end - begin;
      usual = times[begin + most / 2];
    }
  }
  return usual;
}

}  // namespace

std::vector<char> alike_launches(const Trace& trace) {
  std::map<Geometry, std::vector<double>> times;
  std::vector<double> time_of(trace.counters.size());
  for (std::size_t i = 0; i < trace.counters.size(); ++i) {
    time_of[i] = counter_value(trace.counters[i], trace.strings, Counter::kDuration).value_or(0);
    if (time_of[i] > 0) times[geometry_of(trace.counters[i])].push_back(time_of[i]);
  }
  std::map<Geometry, double> usual;
  for (auto& [geometry, all] : times) usual[geometry] = usual_time(std::move(all));
  std::vector<char> alike(trace.counters.size(), 1);
  for (std::size_t i = 0; i < alike.size(); ++i)
    if (time_of[i] > 0) alike[i] = take_as_long(usual[geometry_of(trace.counters[i])], time_of[i]) ? 1 : 0;
  return alike;
}

CountedLaunchCosts::CountedLaunchCosts(const Trace& trace) {
  struct Sums {
    std::array<double, kCounterCount> values = {};
    std::array<uint32_t, kCounterCount> counts = {};
  };
  std::map<Key, Sums> sums;
  const std::vector<char> alike = alike_launches(trace);
  for (std::size_t at = 0; at < trace.counters.size(); ++at) {
    if (alike[at] == 0) continue;
    const KernelCounters& row = trace.counters[at];
    Sums& of_key = sums[geometry_of(row)];
    for (int i = 0; i < kCounterCount; ++i) {
      const auto value = counter_value(row, trace.strings, static_cast<Counter>(i));
      if (!value) continue;
      of_key.values[static_cast<std::size_t>(i)] += *value;
      ++of_key.counts[static_cast<std::size_t>(i)];
    }
  }
  for (const auto& entry : sums) {
    const Sums& of_key = entry.second;
    const auto value = [&](Counter counter) {
      const auto i = static_cast<std::size_t>(counter);
      return of_key.counts[i] > 0 ? of_key.values[i] / of_key.counts[i] : 0;
    };
    const bool known = of_key.counts[static_cast<std::size_t>(Counter::kDramRead)] > 0 &&
                       of_key.counts[static_cast<std::size_t>(Counter::kDramWritten)] > 0;
    costs_[entry.first] = {counted_flops(value), value(Counter::kDramRead), value(Counter::kDramWritten),
                           known};
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
