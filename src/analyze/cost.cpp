#include "analyze/cost.h"

#include <algorithm>

#include "analyze/rules.h"

namespace hone::analyze {
namespace {

double last_cache_bytes(const Roofs& roofs) {
  double largest = 0;
  for (const MemoryRoof& roof : roofs.memory) largest = std::max(largest, roof.capacity_bytes);
  return largest;
}

double time_ms(double amount, double per_second) { return per_second > 0 ? amount / per_second * 1e3 : 0; }

// Matrix products and convolutions reuse what they load: their time does not follow their bytes, so fusing a
// neighbour saves the neighbour's traffic, not theirs.
bool time_follows_bytes(trace::OperatorClass op_class) {
  return op_class != trace::OperatorClass::kMatrix && op_class != trace::OperatorClass::kConvolution;
}

// Of products of f32 that the device may compute in tf32 the rate of that, where it was measured.
double roof_of(const trace::Operator& op, const CostContext& context) {
  double best = context.roofs.compute_roof(op.dtype, context.threads);
  if (!op.may_use_tf32) return best;
  for (const ComputeRoof& roof : context.roofs.compute)
    if (roof.method == kTf32Method) best = std::max(best, roof.flops.median);
  return best;
}

Bound bound_of(const trace::Operator& op, double flops, const CostContext& context, Bytes bytes) {
  Bound bound;
  bound.compute_roof = roof_of(op, context);
  bound.compute_ms = time_ms(flops, bound.compute_roof);
  double read = op.bytes_read, written = op.bytes_written;
  if (bytes ==
      Bytes::kUnavoidable) {  // half of what fusion saves is read, half written, where there is as much
    double half = op.avoidable_bytes / 2;
    double unread = std::min(read, half + std::max(0.0, half - written));
    double unwritten = std::min(written, half + std::max(0.0, half - read));
    read -= unread;
    written -= unwritten;
  }
  double streamed = context.weights_stream ? op.constant_bytes : 0;
  TrafficTime traffic = context.roofs.traffic(read, written, streamed, context.threads);
  bound.memory_ms = traffic.seconds * 1e3;
  bound.memory_level = traffic.level;
  return bound;
}

// The time that a good kernel takes: arithmetic by the definition or by a faster algorithm, whichever is
// sooner, or the traffic.
double attainable_ms(const trace::Operator& op, const CostContext& context) {
  const double fraction = attainable_fraction(op.op_class);
  Bound floor = operator_floor(op, context, Bytes::kUnavoidable);
  double arithmetic = time_ms(op.flops, floor.compute_roof) / fraction;
  if (op.fewest_flops() < op.flops)
    arithmetic = std::min(arithmetic, floor.compute_ms / kAttainableFastAlgorithm);
  return std::max(arithmetic, floor.memory_ms / fraction);
}

}  // namespace

CostContext cost_context(const trace::Trace& trace, const Roofs& roofs, int threads) {
  double weights = 0;
  for (const trace::Operator& op : trace.operators) weights += op.constant_bytes;
  return {roofs, threads, weights > last_cache_bytes(roofs), false};
}

Bound operator_floor(const trace::Operator& op, const CostContext& context, Bytes bytes) {
  return bound_of(op, op.fewest_flops(), context, bytes);
}

double step_floor_ms(const trace::Operator& op, const CostContext& context) {
  if (op.op_class == trace::OperatorClass::kLayout || writes_out_broadcast(op)) return 0;
  return operator_floor(op, context, Bytes::kUnavoidable).ms();
}

Bound kernel_roof(const trace::Operator& op, const CostContext& context, Bytes bytes) {
  return bound_of(op, op.kernel_flops(), context, bytes);
}

std::string roof_name(const trace::Operator& op, const Bound& bound) {
  if (!bound.known()) return "unknown";
  if (bound.memory_bound()) return bound.memory_level;
  return std::string(op.may_use_tf32 ? "tf32" : dtype_name(op.dtype)) + " compute";
}

Cause Split::main_cause() const {
  double largest = std::max({floor_ms, layout_ms, avoidable_ms, inefficiency_ms, unjudged_ms});
  if (largest == floor_ms) return Cause::kFloor;
  if (largest == layout_ms) return Cause::kLayout;
  if (largest == avoidable_ms) return Cause::kAvoidableTraffic;
  return largest == inefficiency_ms ? Cause::kKernelInefficiency : Cause::kUnjudged;
}

bool writes_out_broadcast(const trace::Operator& op) {
  return op.op_class == trace::OperatorClass::kMovement && op.what == trace::OperatorKind::kCopy &&
         op.bytes() > 0 && op.avoidable_bytes >= op.bytes();
}

Split split_time(double ms, const trace::Operator& op, const CostContext& context) {
  Split split;
  if (op.op_class == trace::OperatorClass::kLayout) {
    split.layout_ms = ms;
    return split;
  }
  if (writes_out_broadcast(op)) {
    split.avoidable_ms = ms;
    return split;
  }
  if (context.roofs.compute.empty() && context.roofs.memory.empty()) {
    split.floor_ms = ms;  // nothing to compare it with
    return split;
  }
  // What a foreign program's operators take beyond those within them is their framework's, not unknown.
  if (!context.repeated && op.flops <= 0 && op.bytes() <= 0) {
    split.unjudged_ms = ms;
    return split;
  }
  double floor = step_floor_ms(op, context);
  split.floor_ms = std::min(ms, floor);
  double above = ms - split.floor_ms;
  if (op.avoidable_bytes > 0 && op.bytes() > 0 && time_follows_bytes(op.op_class))
    split.avoidable_ms = std::min(above, ms * std::min(1.0, op.avoidable_bytes / op.bytes()));
  split.inefficiency_ms = above - split.avoidable_ms;
  double own = kernel_roof(op, context, Bytes::kUnavoidable).ms();
  split.algorithm_ms = std::clamp(own - floor, 0.0, split.inefficiency_ms);
  // Without a known cost there is no roof to fall short of, hence nothing to promise.
  if (floor > 0)
    split.recoverable_inefficiency_ms =
        std::clamp(ms - split.avoidable_ms - attainable_ms(op, context), 0.0, split.inefficiency_ms);
  return split;
}

}  // namespace hone::analyze
