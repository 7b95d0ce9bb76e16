#include "analyze/device/kernels/operators_of_kernels.h"

#include <cmath>

namespace hone::analyze::device {
namespace {

constexpr double kAlike = 0.02;

bool are_alike(double a, double b) { return std::abs(a - b) <= kAlike * a; }

bool computes(const trace::Trace& trace, const Work& work) {
  return work.kind == WorkKind::kKernel && !trace.kernel(work.span).changes_layout();
}

}  // namespace

OperatorsOfKernels::OperatorsOfKernels(const trace::Trace& trace, const RankTimeline& timeline)
    : trace_(trace), works_(timeline.executions, 0), types_(trace.operators.size(), 0) {
  std::vector<trace::KernelMath> first(trace.operators.size());
  for (const Work& work : timeline.works) {
    if (work.op == kNothing || !computes(trace, work)) continue;
    if (work.execution != kNothing) ++works_[work.execution];
    const trace::KernelMath math = trace.kernel(work.span).math;
    char& types = types_[work.op];
    if (types == 0) first[work.op] = math;
    types = types == 0 || (types == 1 && first[work.op] == math) ? 1 : 2;
  }
}

std::optional<LaunchCosts> OperatorsOfKernels::costs_of(const Work& work) const {
  if (work.op == kNothing || work.execution == kNothing || works_[work.execution] != 1 ||
      trace_.operators[work.op].measured)
    return std::nullopt;
  const trace::Operator& op = trace_.operators[work.op];
  return LaunchCosts{op.flops, types_[work.op] == 1 ? op.bytes() : 0};
}

void CostsByShapes::add(const std::optional<LaunchCosts>& costs) {
  if (!costs) {
    alike_ = false;
  } else if (!any_) {
    costs_ = *costs;
    any_ = true;
  } else {
    alike_ = alike_ && are_alike(costs_.flops, costs->flops) && are_alike(costs_.bytes, costs->bytes);
  }
}

}  // namespace hone::analyze::device
