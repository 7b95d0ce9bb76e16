#include "graph/training/schedule.h"

#include <algorithm>
#include <array>
#include <numbers>
#include <string>

namespace hone::graph {
namespace {

// Scalars in f32: counts of steps are exact up to 2^24.
struct ScalarEmitter {
  GraphBuilder& b;

  ValueId number(double value) {
    return b.constant("rate.number", Tensor::scalar_f32(static_cast<float>(value)));
  }
  ValueId op(const char* name, std::vector<ValueId> inputs) {
    return b.add(name, std::move(inputs), {}, std::string("rate.") + name);
  }
  // How far `t` is between two steps: 0 before, 1 behind.
  ValueId between(ValueId t, double first, double last) {
    const ValueId share = op("Div", {op("Sub", {t, number(first)}), number(std::max(last - first, 1e-9))});
    return op("Max", {op("Min", {share, number(1)}), number(0)});
  }
  ValueId line(double from, double to, ValueId share) {
    return op("Add", {op("Mul", {share, number(to - from)}), number(from)});
  }
  // Half a cosine from one level to the other.
  ValueId cosine(double from, double to, ValueId share) {
    const ValueId angle = op("Mul", {share, number(std::numbers::pi)});
    const ValueId half = op("Mul", {op("Add", {op("Cos", {angle}), number(1)}), number(0.5 * (from - to))});
    return op("Add", {half, number(to)});
  }
};

ValueId shape_of_schedule(ScalarEmitter& e, const Schedule& s, ValueId t) {
  const auto steps = static_cast<double>(s.steps);
  const auto warm = static_cast<double>(s.warmup_steps);
  switch (s.kind) {
    case ScheduleKind::kLinear:
      return e.line(1, s.final, e.between(t, warm, steps));
    case ScheduleKind::kCosine:
      return e.cosine(1, s.final, e.between(t, warm, steps));
    case ScheduleKind::kWarmupStableDecay:
      return e.line(1, s.final, e.between(t, steps * (1 - s.decay), steps));
    case ScheduleKind::kOneCycle: {  // the last step of each half has arrived, as in torch's OneCycleLR
      const double top = std::max(s.peak_at * steps - 1, 0.0);
      const ValueId up = e.cosine(s.start, 1, e.between(t, 0, top));
      const ValueId down = e.cosine(1, s.final, e.between(t, top, steps - 1));
      return e.op("Where", {e.op("Less", {t, e.number(top)}), up, down});
    }
    case ScheduleKind::kConstant:
      break;
  }
  return e.number(1);
}

}  // namespace

std::span<const std::string_view> schedule_names() {
  static constexpr std::array<std::string_view, 5> kNames = {"constant", "linear", "cosine", "one-cycle",
                                                             "warmup-stable-decay"};
  return kNames;
}

ValueId emit_rate(GraphBuilder& builder, const Schedule& schedule, double peak, ValueId updates) {
  ScalarEmitter e{builder};
  const ValueId t = builder.add("Cast", {updates}, {{"to", int64_t{1}}}, "rate.t");  // 1: ONNX's FLOAT
  ValueId rate = e.op("Mul", {shape_of_schedule(e, schedule, t), e.number(peak)});
  if (schedule.warmup_steps > 0) {
    const ValueId risen =
        e.op("Div", {e.op("Add", {t, e.number(1)}), e.number(static_cast<double>(schedule.warmup_steps))});
    rate = e.op("Mul", {rate, e.op("Min", {risen, e.number(1)})});
  }
  return rate;
}

}  // namespace hone::graph
