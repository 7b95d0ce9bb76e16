#include "analyze/device/busy/operator_uses.h"

#include <algorithm>
#include <set>
#include <utility>

namespace hone::analyze::device {
namespace {

using trace::OperatorClass;

bool is_memory_class(OperatorClass op_class) {
  return op_class == OperatorClass::kPointwise || op_class == OperatorClass::kNormalization ||
         op_class == OperatorClass::kReduction || op_class == OperatorClass::kMovement ||
         op_class == OperatorClass::kLayout || op_class == OperatorClass::kPooling;
}

class UseReader {
 public:
  UseReader(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs)
      : trace_(trace), timeline_(timeline), roofs_(roofs) {
    for (const DeviceStep& step : timeline.steps) steps_.insert(step.step);
    result_.rows.resize(trace.operators.size());
    vector_ns_.resize(trace.operators.size());
    matrix_ns_.resize(trace.operators.size());
  }

  OperatorUses run() {
    count_uses();
    find_math();
    for (std::size_t op = 0; op < result_.rows.size(); ++op) estimate(op);
    return std::move(result_);
  }

 private:
  // Whether a row is of a step that the timeline leaves out.
  bool is_left_out(std::size_t row) const {
    const int32_t step = trace_.spans.step[row];
    return step != trace::kNoStep && !steps_.contains(step);
  }

  void count_uses() {
    const trace::SpanTable& spans = trace_.spans;
    std::vector<char> seen_executions(timeline_.executions, 0);
    for (const Work& work : timeline_.works) {
      if (work.op == kNothing || is_left_out(work.span)) continue;
      OperatorUse& use = result_.rows[work.op];
      ++use.works;
      if (char& seen = seen_executions[work.execution]; seen == 0) {
        seen = 1;
        ++use.executions;
      }
      use.work_ns += static_cast<double>(work.ns());
      const trace::KernelFamily& kernel = trace_.kernel(work.span);
      if (!kernel.changes_layout()) use.computing_ns += static_cast<double>(work.ns());
      if (kernel.math == KernelMath::kVectorF32) vector_ns_[work.op] += work.ns();
      if (trace::on_tensor_cores(kernel.math)) matrix_ns_[work.op] += work.ns();
    }
    std::vector<char> has_inputs(result_.rows.size(), 0);
    for (std::size_t row = 0; row < spans.size(); ++row) {
      if (!spans.op[row].valid() || spans.category[row] != trace::Category::kOperator) continue;
      const uint32_t op = spans.op[row].index;
      if (has_inputs[op] != 0 || result_.rows[op].works == 0 ||
          trace_.tracks[spans.track[row].index].rank != timeline_.rank || is_left_out(row))
        continue;
      has_inputs[op] = 1;
      read_inputs(static_cast<uint32_t>(row), trace_.operators[op].op_class, result_.rows[op]);
    }
  }

  void read_inputs(uint32_t row, OperatorClass op_class, OperatorUse& use) {
    const trace::Call* call = trace::find_detail(trace_.calls, row);
    if (call == nullptr || !call->inputs.valid()) return;
    auto parsed = trace::parse_call_inputs(trace_.strings.text(call->inputs));
    if (parsed.ok()) use.inputs = std::move(*parsed);
    use.largest_input = largest_tensor(use.inputs);
    use.elements = use.largest_input;
    if (op_class == OperatorClass::kPointwise)
      use.elements = std::max(use.elements, broadcast_elements(use.inputs));
  }

  KernelMath math_of(std::size_t op, const OperatorUse& use) const {
    switch (trace_.operators[op].dtype) {
      case DType::kF64:
        return KernelMath::kF64;
      case DType::kF16:
        return KernelMath::kF16;
      case DType::kF8E4M3FN:
      case DType::kF8E5M2:
        return KernelMath::kF8;
      case DType::kI8:
      case DType::kU8:
        return KernelMath::kI8;
      case DType::kF32:
        break;
      default:
        return KernelMath::kBf16;
    }
    // Those of an operator's kernels that work longest count.
    if (vector_ns_[op] > matrix_ns_[op]) return KernelMath::kVectorF32;
    if (matrix_ns_[op] > 0) return KernelMath::kTf32;
    if (trace_.operators[op].may_use_tf32 && roofs_.tf32 > 0) return KernelMath::kTf32;
    // A kernel whose name tells nothing and that is faster than f32 can be runs on matrix units.
    const double rate = use.work_ns > 0 ? trace_.operators[op].flops * use.executions / use.work_ns * 1e9 : 0;
    return rate > roofs_.f32 ? KernelMath::kTf32 : KernelMath::kVectorF32;
  }

  void find_math() {
    double narrow = 0, all = 0;
    for (std::size_t op = 0; op < result_.rows.size(); ++op) {
      OperatorUse& use = result_.rows[op];
      const trace::Operator& row = trace_.operators[op];
      use.is_product = row.op_class == OperatorClass::kMatrix || row.op_class == OperatorClass::kConvolution;
      use.math = math_of(op, use);
      if (!use.is_product || use.works == 0) continue;
      const double flops = row.flops * use.executions;
      all += flops;
      narrow += is_16_bit(use.math) || is_8_bit(use.math) ? flops : 0;
    }
    result_.mostly_narrow = all > 0 && narrow >= 0.5 * all;
  }

  // What an execution takes at the roofs with its products done in `math`.
  double least_ns(const trace::Operator& row, const OperatorUse& use, KernelMath math) const {
    const double traffic = ns_at(row.bytes(), roofs_.dram);
    const bool narrows = use.is_product && is_16_bit(math) && !is_16_bit(use.math);
    const double arithmetic = use.is_product ? ns_at(row.fewest_flops(), roofs_.matrix_roof(math))
                                             : ns_at(row.kernel_flops(), roofs_.vector_f32);
    return std::max(arithmetic, narrows || row.dtype == DType::kF64 ? traffic / 2 : traffic);
  }

  void estimate(std::size_t op) {
    OperatorUse& use = result_.rows[op];
    if (use.works == 0) return;
    const trace::Operator& row = trace_.operators[op];
    const double arithmetic =
        ns_at(row.kernel_flops(), use.is_product ? roofs_.matrix_roof(use.math) : roofs_.vector_f32);
    use.roof_ns = std::max(arithmetic, ns_at(row.bytes(), roofs_.dram));
    use.floor_ns = least_ns(row, use, narrowest_math(use.math, roofs_));
    use.enough_ns = least_ns(row, use, enough_math(use.math, roofs_, result_.mostly_narrow));
    use.memory_bound = is_memory_class(row.op_class);
    if (row.measured && !use.is_product) judge_by_counters(row, use);
  }

  // What counters counted is the kernel's own work, in the types that its instructions have: its roof as it stands, whatever another
  // type would take.
  void judge_by_counters(const trace::Operator& row, OperatorUse& use) const {
    const double roof = row.dtype == DType::kF64 ? roofs_.f64 : roofs_.vector_f32;
    use.roof_ns = use.floor_ns = use.enough_ns =
        std::max(ns_at(row.kernel_flops(), roof), ns_at(row.bytes(), roofs_.dram));
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const GpuRoofs& roofs_;
  std::set<int32_t> steps_;
  // By operator: time in kernels whose names say that they compute in f32 without and on matrix units.
  std::vector<int64_t> vector_ns_, matrix_ns_;
  OperatorUses result_;
};

}  // namespace

bool is_8_bit(KernelMath math) { return math == KernelMath::kF8 || math == KernelMath::kI8; }

bool is_16_bit(KernelMath math) { return math == KernelMath::kBf16 || math == KernelMath::kF16; }

KernelMath enough_math(KernelMath math, const GpuRoofs& roofs, bool mostly_narrow) {
  const bool f32_may_stay = !mostly_narrow || roofs.bf16 <= 0;
  if (math == KernelMath::kF64 || (math == KernelMath::kVectorF32 && f32_may_stay))
    return roofs.tf32 > 0 ? KernelMath::kTf32 : math;
  const bool wide = math == KernelMath::kVectorF32 || math == KernelMath::kTf32;
  return wide && roofs.bf16 > 0 ? KernelMath::kBf16 : math;
}

KernelMath narrowest_math(KernelMath math, const GpuRoofs& roofs) {
  return enough_math(enough_math(math, roofs, true), roofs, true);
}

double ns_at(double amount, double per_second) { return per_second > 0 ? amount / per_second * 1e9 : 0; }

double OperatorUses::part(const Work& work) const {
  const OperatorUse& use = rows[work.op];
  return use.computing_ns > 0 ? static_cast<double>(work.ns()) / use.computing_ns * use.executions : 0;
}

OperatorUses uses_of(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs) {
  return UseReader(trace, timeline, roofs).run();
}

}  // namespace hone::analyze::device
