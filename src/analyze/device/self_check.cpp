#include "analyze/device/self_check.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "analyze/estimate.h"
#include "core/units.h"

namespace hone::analyze::device {
namespace {

using trace::OperatorClass;

constexpr double kLeastMs = 0.02;  // shorter rows are of few calls, whose times the recorder rounds
// As a share of the roof.
constexpr double kConvolution = 4.5;  // Winograd's F(4×4, 3×3) needs a quarter of the multiplications
constexpr double kCached = 4;         // the last cache gives no more than so many times DRAM
constexpr double kRounding = 1.02;

// How far above what can be the row is, as a share of that; 1 and less: it can be.
double excess(const OperatorTime& row, double most_of_roof) {
  if (row.ms.median < kLeastMs) return 0;
  if (row.bound_by_dram) return row.fraction_of_roof / kCached;
  if (row.op_class == OperatorClass::kConvolution) return row.fraction_of_roof / kConvolution;
  const bool of_zeros = row.main_cause == Cause::kAvoidableTraffic;
  return row.op_class == OperatorClass::kMatrix && !of_zeros ? row.fraction_of_roof / most_of_roof : 0;
}

std::string and_others(std::size_t count) {
  return count > 1 ? fmt::format(" (and {} more)", count - 1) : std::string();
}

// Names the worst of the rows that `counts`.
std::string impossible_rate(const std::vector<OperatorTime>& rows,
                            const std::function<bool(const OperatorTime&)>& counts, double most_of_roof,
                            std::string_view amounts, std::string_view metrics) {
  const auto too_much = [&](const OperatorTime& row) { return excess(row, most_of_roof); };
  const OperatorTime* worst = nullptr;
  std::size_t count = 0;
  for (const OperatorTime& row : rows) {
    if (!counts(row) || too_much(row) <= 1) continue;
    ++count;
    if (worst == nullptr || too_much(row) > too_much(*worst)) worst = &row;
  }
  if (worst == nullptr) return {};
  return fmt::format(
      "{}{} runs at {} of the {} roof, more than the device can: its {} are counted wrong, or the roof is "
      "too low (--roofs FILE). Do not rely on its rate and floor, nor on {}",
      worst->name, and_others(count), format_percent(worst->fraction_of_roof), worst->roof, amounts, metrics);
}

// Where nothing overlaps a row's time is its launches times their mean; where something does, less.
std::string impossible_time(const std::vector<KernelTime>& rows) {
  const KernelTime* worst = nullptr;
  std::size_t count = 0;
  const auto whole_ms = [](const KernelTime& row) { return row.launches * row.mean_us * 1e-3; };
  for (const KernelTime& row : rows) {
    if (row.ms < kLeastMs || row.ms <= kRounding * whole_ms(row)) continue;
    ++count;
    if (worst == nullptr || row.ms - whole_ms(row) > worst->ms - whole_ms(*worst)) worst = &row;
  }
  if (worst == nullptr) return {};
  return fmt::format(
      "{}{} has {} of a step, more than its {:.3g} launches of {} take: the steps differ too much for one to "
      "stand for all; record more of them",
      worst->name, and_others(count), format_ms(worst->ms), worst->launches,
      format_ms(worst->mean_us * 1e-3));
}

}  // namespace

std::vector<std::string> self_check(const OperatorTables& tables, const GpuRoofs& roofs) {
  const auto is_memory = [](const OperatorTime& row) { return row.bound_by_dram; };
  std::vector<std::string> warnings = {
      impossible_rate(tables.operators, std::not_fn(is_memory), roofs.most_of_roof(), "FLOPs",
                      "MFU and achieved arithmetic"),
      impossible_rate(tables.operators, is_memory, roofs.most_of_roof(), "bytes", "memory bandwidth"),
      impossible_time(tables.kernels)};
  std::erase_if(warnings, [](const std::string& warning) { return warning.empty(); });
  return warnings;
}

}  // namespace hone::analyze::device
