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

}  // namespace

CostContext cost_context(const trace::Trace& trace, const Roofs& roofs, int threads) {
  double weights = 0;
  for (const trace::Operator& op : trace.operators) weights += op.constant_bytes;
  return {roofs, threads, weights > last_cache_bytes(roofs)};
}

Floor operator_floor(const trace::Operator& op, const CostContext& context, Bytes bytes) {
  Floor floor;
  floor.compute_roof = context.roofs.compute_roof(op.dtype, context.threads);
  floor.compute_ms = time_ms(op.flops, floor.compute_roof);
  double moved = op.bytes();
  if (bytes == Bytes::kUnavoidable) moved = std::max(0.0, moved - op.avoidable_bytes);
  double streamed = context.weights_stream ? std::min(moved, op.constant_bytes) : 0;
  const MemoryRoof* level = context.roofs.memory_level(moved - streamed, context.threads);
  if (level == nullptr) return floor;
  double dram = context.roofs.dram_roof(context.threads);
  double held_ms = time_ms(moved - streamed, level->bytes.median);
  double streamed_ms = time_ms(streamed, dram);
  floor.memory_ms = held_ms + streamed_ms;
  bool mostly_streamed = streamed_ms > held_ms;
  floor.memory_level = mostly_streamed ? "DRAM" : level->level;
  floor.memory_roof = mostly_streamed ? dram : level->bytes.median;
  return floor;
}

std::string roof_name(const trace::Operator& op, const Floor& floor) {
  if (!floor.known()) return "unknown";
  if (floor.memory_bound()) return floor.memory_level;
  return std::string(dtype_name(op.dtype)) + " compute";
}

Cause Split::main_cause() const {
  double largest = std::max({floor_ms, layout_ms, avoidable_ms, inefficiency_ms});
  if (largest == floor_ms) return Cause::kFloor;
  if (largest == layout_ms) return Cause::kLayout;
  return largest == avoidable_ms ? Cause::kAvoidableTraffic : Cause::kKernelInefficiency;
}

Split split_time(double ms, const trace::Operator& op, const CostContext& context) {
  Split split;
  if (op.op_class == trace::OperatorClass::kLayout) {
    split.layout_ms = ms;
    return split;
  }
  double floor = operator_floor(op, context, Bytes::kUnavoidable).ms();
  split.floor_ms = std::min(ms, floor);
  double above = ms - split.floor_ms;
  if (op.avoidable_bytes > 0 && op.bytes() > 0 && time_follows_bytes(op.op_class))
    split.avoidable_ms = std::min(above, ms * std::min(1.0, op.avoidable_bytes / op.bytes()));
  split.inefficiency_ms = above - split.avoidable_ms;
  // Without a known cost there is no roof to fall short of, hence nothing to promise.
  if (floor > 0) {
    double attainable_ms = floor / attainable_fraction(op.op_class);
    split.recoverable_inefficiency_ms =
        std::clamp(ms - split.avoidable_ms - attainable_ms, 0.0, split.inefficiency_ms);
  }
  return split;
}

}  // namespace hone::analyze
