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
  UseReader(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs,
            const TraitsByName& traits)
      : trace_(trace), timeline_(timeline), roofs_(roofs), traits_(traits) {
    for (const DeviceStep& step : timeline.steps) steps_.insert(step.step);
    result_.rows.resize(trace.operators.size());
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
      if (!traits_.of(work.span).changes_layout) use.computing_ns += static_cast<double>(work.ns());
      if (traits_.of(work.span).vector_math) vector_math_.insert(work.op);
      if (traits_.of(work.span).matrix_units) matrix_units_.insert(work.op);
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

  MatrixMath math_of(std::size_t op, const OperatorUse& use) const {
    switch (trace_.operators[op].dtype) {
      case DType::kF64:
        return MatrixMath::kF64;
      case DType::kF16:
        return MatrixMath::kF16;
      case DType::kF8E4M3FN:
      case DType::kF8E5M2:
        return MatrixMath::kF8;
      case DType::kI8:
      case DType::kU8:
        return MatrixMath::kI8;
      case DType::kF32:
        break;
      default:
        return MatrixMath::kBf16;
    }
    if (vector_math_.contains(static_cast<uint32_t>(op))) return MatrixMath::kF32;
    if (matrix_units_.contains(static_cast<uint32_t>(op))) return MatrixMath::kTf32;
    // A kernel whose name tells nothing and that is faster than f32 can be runs on matrix units.
    const double rate = use.work_ns > 0 ? trace_.operators[op].flops * use.executions / use.work_ns * 1e9 : 0;
    return rate > roofs_.f32 ? MatrixMath::kTf32 : MatrixMath::kF32;
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
  double least_ns(const trace::Operator& row, const OperatorUse& use, MatrixMath math) const {
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
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const GpuRoofs& roofs_;
  const TraitsByName& traits_;
  std::set<int32_t> steps_;
  std::set<uint32_t> vector_math_, matrix_units_;  // operators by what their kernels are named after
  OperatorUses result_;
};

}  // namespace

bool is_8_bit(MatrixMath math) { return math == MatrixMath::kF8 || math == MatrixMath::kI8; }

bool is_16_bit(MatrixMath math) { return math == MatrixMath::kBf16 || math == MatrixMath::kF16; }

MatrixMath enough_math(MatrixMath math, const GpuRoofs& roofs, bool mostly_narrow) {
  const bool f32_may_stay = !mostly_narrow || roofs.bf16 <= 0;
  if (math == MatrixMath::kF64 || (math == MatrixMath::kF32 && f32_may_stay))
    return roofs.tf32 > 0 ? MatrixMath::kTf32 : math;
  const bool wide = math == MatrixMath::kF32 || math == MatrixMath::kTf32;
  return wide && roofs.bf16 > 0 ? MatrixMath::kBf16 : math;
}

MatrixMath narrowest_math(MatrixMath math, const GpuRoofs& roofs) {
  return enough_math(enough_math(math, roofs, true), roofs, true);
}

double ns_at(double amount, double per_second) { return per_second > 0 ? amount / per_second * 1e9 : 0; }

double OperatorUses::part(const Work& work) const {
  const OperatorUse& use = rows[work.op];
  return use.computing_ns > 0 ? static_cast<double>(work.ns()) / use.computing_ns * use.executions : 0;
}

OperatorUses uses_of(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs,
                     const TraitsByName& traits) {
  return UseReader(trace, timeline, roofs, traits).run();
}

}  // namespace hone::analyze::device
