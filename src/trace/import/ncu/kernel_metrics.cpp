#include "trace/import/ncu/kernel_metrics.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace hone::trace::ncu {
namespace {

// The first of these that was measured; counters of the raw page before names of the details page.
std::optional<double> first_of(const KernelMetrics& metrics, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const auto value = metrics.value(name)) return value;
  return std::nullopt;
}

// A count that was taken as a sum or as a rate per cycle.
double count_of(const KernelMetrics& metrics, const std::string& counter) {
  if (const auto sum = metrics.value(counter + ".sum")) return *sum;
  const auto cycles = elapsed_cycles(metrics);
  return cycles ? metrics.value_or_zero(counter + ".sum.per_cycle_elapsed") * *cycles : 0;
}

// Additions and multiplications count one, fused ones two (Nsight Compute's own roofline does the same).
double vector_flops(const KernelMetrics& metrics, char letter) {
  const auto count = [&](const char* operation) {
    return count_of(metrics,
                    fmt::format("smsp__sass_thread_inst_executed_op_{}{}_pred_on", letter, operation));
  };
  return count("add") + count("mul") + 2 * count("fma");
}

// The type that a counter of the matrix units is about: "sm__ops_path_tensor_src_bf16_dst_fp32.sum".
DType matrix_dtype(std::string_view source) {
  constexpr std::array<std::pair<std::string_view, DType>, 6> kTypes = {{{"bf16", DType::kBF16},
                                                                         {"fp16", DType::kF16},
                                                                         {"tf32", DType::kF32},
                                                                         {"fp64", DType::kF64},
                                                                         {"fp8", DType::kF8E4M3FN},
                                                                         {"int8", DType::kI8}}};
  for (const auto& [name, dtype] : kTypes)
    if (source.starts_with(name)) return dtype;
  return DType::kUndefined;
}

// Counters of matrix units overlap: one sums over what the others split by instruction. The ones without an
// instruction in their names are taken; the others only where those are missing.
void add_matrix_flops(const KernelMetrics& metrics, std::map<DType, double>& flops) {
  constexpr std::string_view kAll = "sm__ops_path_tensor_src_", kEach = "sm__ops_path_tensor_op_";
  for (const std::string_view prefix : {kAll, kEach}) {
    double found = 0;
    for (const auto& [name, value] : metrics.values) {
      if (!name.starts_with(prefix) || !name.ends_with(".sum") ||
          name.find("sparsity_on") != std::string::npos)
        continue;
      const std::size_t source = prefix == kAll ? prefix.size() : name.find("src_") + 4;
      const DType dtype = matrix_dtype(std::string_view(name).substr(std::min(source, name.size())));
      if (dtype == DType::kUndefined) continue;
      flops[dtype] += value;
      found += value;
    }
    if (found > 0) return;
  }
}

// The busiest of the units, where the counters tell; how full the SMs were of warps.
std::string limits_of(const KernelMetrics& metrics) {
  struct Unit {
    std::string_view name;
    std::optional<double> percent;
  };
  const std::array<Unit, 4> units = {{
      {"compute",
       first_of(metrics, {"sm__throughput.avg.pct_of_peak_sustained_elapsed", "Compute (SM) Throughput"})},
      {"DRAM", first_of(metrics, {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                                  "dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM Throughput"})},
      {"L2",
       first_of(metrics, {"lts__throughput.avg.pct_of_peak_sustained_elapsed",
                          "lts__t_throughput.avg.pct_of_peak_sustained_elapsed", "L2 Cache Throughput"})},
      {"L1",
       first_of(metrics, {"l1tex__throughput.avg.pct_of_peak_sustained_active", "L1/TEX Cache Throughput"})},
  }};
  const Unit* busiest = nullptr;
  for (const Unit& unit : units)
    if (unit.percent && (busiest == nullptr || *unit.percent > *busiest->percent)) busiest = &unit;
  std::string text;
  if (busiest != nullptr)
    text = *busiest->percent < 60
               ? fmt::format("no unit is busy (most: {} {:.0f} %): latency", busiest->name, *busiest->percent)
               : fmt::format("limited by {} ({:.0f} % busy)", busiest->name, *busiest->percent);
  if (const auto warps =
          first_of(metrics, {"sm__warps_active.avg.pct_of_peak_sustained_active", "Achieved Occupancy"}))
    text += fmt::format("{}occupancy {:.0f} %", text.empty() ? "" : "; ", *warps);
  return text;
}

}  // namespace

std::optional<double> KernelMetrics::value(std::string_view name) const {
  const auto at = values.find(std::string(name));
  return at == values.end() ? std::nullopt : std::optional(at->second);
}

std::optional<double> elapsed_cycles(const KernelMetrics& metrics) {
  return first_of(metrics, {"smsp__cycles_elapsed.avg", "smsp__cycles_elapsed.max", "sm__cycles_elapsed.max",
                            "sm__cycles_elapsed.avg", "Elapsed Cycles"});
}

std::optional<double> value_in_base_unit(std::string_view value, std::string_view unit) {
  std::string digits;
  for (const char c : value)
    if (c != ',' && c != ' ') digits += c;
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, double>, 18> kUnits = {{
      {"ns", 1},
      {"us", 1e3},
      {"ms", 1e6},
      {"s", 1e9},
      {"nsecond", 1},
      {"usecond", 1e3},
      {"msecond", 1e6},
      {"second", 1e9},
      {"KB", 1e3},
      {"MB", 1e6},
      {"GB", 1e9},
      {"TB", 1e12},
      {"Kbyte", 1e3},
      {"Mbyte", 1e6},
      {"Gbyte", 1e9},
      {"Tbyte", 1e12},
      {"byte", 1},
      {"B", 1},
  }};
  const auto factor_of = [&](std::string_view wanted) {
    for (const auto& [name, factor] : kUnits)
      if (name == wanted) return factor;
    return 0.0;
  };
  if (const std::size_t slash = unit.find('/'); slash != std::string_view::npos) {
    // rates are per second, whatever they are printed in
    if (const double time = factor_of(unit.substr(slash + 1)); time > 0) number *= 1e9 / time;
    unit = unit.substr(0, slash);
  }
  if (const double factor = factor_of(unit); factor > 0) return number * factor;
  if (unit.size() > 1 && (unit.substr(1) == "inst" || unit.substr(1) == "cycle" || unit.substr(1) == "Hz" ||
                          unit.substr(1) == "hz" || unit.substr(1) == "sector" || unit.substr(1) == "warp")) {
    constexpr std::string_view kPrefixes = "KMGT";
    const std::size_t power = kPrefixes.find(unit[0]);
    for (std::size_t i = 0; power != std::string_view::npos && i <= power; ++i) number *= 1e3;
  }
  return number;
}

KernelCounts counts_of(const KernelMetrics& metrics) {
  KernelCounts counts;
  counts.seconds =
      first_of(metrics, {"gpu__time_duration.sum", "gpu__time_duration.avg", "Duration"}).value_or(0) * 1e-9;
  std::map<DType, double> flops = {{DType::kF32, vector_flops(metrics, 'f')},
                                   {DType::kF64, vector_flops(metrics, 'd')},
                                   {DType::kF16, vector_flops(metrics, 'h')}};
  add_matrix_flops(metrics, flops);
  double most = 0;
  for (const auto& [dtype, count] : flops) {
    counts.flops += count;
    if (count > most) counts.dtype = dtype;
    most = std::max(most, count);
  }
  counts.bytes_read = metrics.value_or_zero("dram__bytes_read.sum");
  counts.bytes_written = metrics.value_or_zero("dram__bytes_write.sum");
  if (counts.bytes_read + counts.bytes_written == 0)
    counts.bytes_read = first_of(metrics, {"dram__bytes.sum"})
                            .value_or(metrics.value_or_zero("Memory Throughput [byte]") * counts.seconds);
  counts.limits = limits_of(metrics);
  return counts;
}

}  // namespace hone::trace::ncu
