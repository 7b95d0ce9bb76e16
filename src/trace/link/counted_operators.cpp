#include "trace/link/counted_operators.h"

#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "trace/counted_costs.h"
#include "trace/kernel_family.h"

namespace hone::trace::link {
namespace {

constexpr double kNearlyAll = 0.9;  // of an operator's time on the device

void set_costs(Operator& op, const CountedFlops& flops, double read, double written) {
  const MainArithmetic main = main_arithmetic(flops);
  op.measured = true;
  op.dtype = main.dtype;
  op.flops = flops.all();
  // Roofs are of one type: what is done in others hardly counts beside it.
  op.executed_flops = op.least_flops = main.flops;
  op.bytes_read = read;
  op.bytes_written = written;
}

CountedFlops sum_of(const CountedFlops& a, const CountedFlops& b) {
  return {a.vector_f32 + b.vector_f32,   a.vector_f64 + b.vector_f64, a.vector_f16 + b.vector_f16,
          a.tensor_bf16 + b.tensor_bf16, a.tensor_f16 + b.tensor_f16, a.tensor_tf32 + b.tensor_tf32,
          a.tensor_f64 + b.tensor_f64,   a.tensor_f8 + b.tensor_f8,   a.tensor_i8 + b.tensor_i8};
}

class CostsByCounters {
 public:
  CostsByCounters(Trace& trace, std::span<const DeviceWork> work)
      : trace_(trace), work_(work), counted_(trace) {
    for (const Operator& op : trace.operators) names_.insert(op.name);
  }

  void run() {
    if (counted_.empty()) return;
    for (const DeviceWork& item : work_) {
      if (trace_.spans.category[item.row] != Category::kKernel) continue;
      const Launch* launch = find_detail(trace_.launches, item.row);
      const CountedCosts* costs =
          launch == nullptr ? nullptr : counted_.find(trace_.spans.name[item.row], *launch);
      const OperatorId op = trace_.spans.op[item.row];
      if (op.valid())
        add_to(sums_[op.index], item, costs);
      else if (costs != nullptr)
        trace_.spans.op[item.row] = row_of(item.row, *launch, *costs);
    }
    for (const auto& [op, sum] : sums_) complete(trace_.operators[op], sum);
  }

 private:
  // What the calls of an operator launched.
  struct Sum {
    double ns = 0, counted_ns = 0;
    std::set<uint32_t> calls;  // rows of their spans
    CountedFlops flops;
    double read = 0, written = 0;
    bool without_call = false;
  };

  void add_to(Sum& sum, const DeviceWork& item, const CountedCosts* costs) {
    const auto ns = static_cast<double>(trace_.spans.duration_ns[item.row]);
    sum.ns += ns;
    if (item.caller == kNoSpan)
      sum.without_call = true;
    else
      sum.calls.insert(item.caller);
    if (costs == nullptr) return;
    sum.counted_ns += ns;
    sum.flops = sum_of(sum.flops, costs->flops);
    sum.read += costs->bytes_read;
    sum.written += costs->bytes_written;
  }

  void complete(Operator& op, const Sum& sum) {
    if (op.flops > 0 || op.bytes() > 0 || sum.without_call || sum.calls.empty() ||
        sum.counted_ns < kNearlyAll * sum.ns || sum.counted_ns <= 0)
      return;
    const double a_call = 1 / static_cast<double>(sum.calls.size());
    set_costs(op, sum.flops, sum.read * a_call, sum.written * a_call);
    op.flops *= a_call;
    op.least_flops *= a_call;
    op.executed_flops *= a_call;
  }

  OperatorId row_of(uint32_t span, const Launch& launch, const CountedCosts& costs) {
    const StringId kernel = trace_.spans.name[span];
    const auto [at, is_new] = rows_.try_emplace({kernel.index, launch.grid, launch.block}, OperatorId{});
    if (!is_new) return at->second;
    const std::string full(trace_.strings.text(kernel));
    Operator op;
    op.kind = kernel_short_name(full);
    op.implementation = full;
    op.geometry = fmt::format("{}×{}×{} blocks of {}×{}×{} threads", launch.grid[0], launch.grid[1],
                              launch.grid[2], launch.block[0], launch.block[1], launch.block[2]);
    op.device = "cuda";
    if (main_arithmetic(costs.flops).on_matrix_units) op.op_class = OperatorClass::kMatrix;
    set_costs(op, costs.flops, costs.bytes_read, costs.bytes_written);
    op.name = fmt::format("{} {}", op.kind, op.geometry);
    for (int number = 2; !names_.insert(op.name).second; ++number)
      op.name = fmt::format("{} {} #{}", op.kind, op.geometry, number);
    return at->second = trace_.add_operator(std::move(op));
  }

  Trace& trace_;
  std::span<const DeviceWork> work_;
  CountedLaunchCosts counted_;
  std::set<std::string> names_;
  std::map<std::tuple<uint32_t, std::array<uint32_t, 3>, std::array<uint32_t, 3>>, OperatorId> rows_;
  std::map<uint32_t, Sum> sums_;  // by operator
};

}  // namespace

void cost_by_counters(Trace& trace, std::span<const DeviceWork> work) { CostsByCounters(trace, work).run(); }

}  // namespace hone::trace::link
