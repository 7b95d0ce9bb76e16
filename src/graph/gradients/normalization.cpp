// Gradients of normalizations, with the statistics computed again: they are cheap beside keeping the
// normalized values.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "graph/gradients/context.h"
#include "graph/spelled_out/forms.h"
#include "graph/spelled_out/spelled_out.h"

namespace hone::graph {
namespace {

// Statistics are kept in f32, or f64 for f64.
DType statistics_type(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

Status expect_rank(const GradientContext& c) {
  if (c.type(c.input(0)).has_rank()) return {};
  return unsupported(
      fmt::format("unsupported: the gradient of {} of a tensor whose rank is not known", c.node().op));
}

// x̂ = (x - mean) / deviation over `axes`.
struct Normalized {
  ValueId centred;
  ValueId inverse;  // 1 / deviation
  ValueId normal;   // x̂
};

Normalized normalized(NodeEmitter& c, ValueId x, const Ints& axes, double epsilon) {
  const ValueId centred = c.minus(x, c.averaged(x, axes));
  const ValueId variance = c.averaged(c.times(centred, centred), axes);
  const ValueId inverse =
      c.add("Reciprocal", {c.add("Sqrt", {c.plus(variance, c.scalar(epsilon, variance))})});
  return {centred, inverse, c.times(centred, inverse)};
}

// ∂x of x̂, where h flows into it: (h - mean(h) - x̂ · mean(h · x̂)) / deviation.
ValueId through_normalized(NodeEmitter& c, const Normalized& x, ValueId h, const Ints& axes) {
  const ValueId along = c.times(x.normal, c.averaged(c.times(h, x.normal), axes));
  return c.times(c.minus(c.minus(h, c.averaged(h, axes)), along), x.inverse);
}

// How many elements `part` has for each of `whole`, as a number of the type of `part`.
ValueId elements_each(GradientContext& c, ValueId part, ValueId whole) {
  const auto count = [&](ValueId value) { return c.cast(c.add("Size", {value}), c.type(whole).dtype); };
  return c.over(count(part), count(whole));
}

// What reaches x by way of the mean and 1 / deviation, where those are outputs that are read:
// m / n - i · x̂ / (n · deviation²).
ValueId through_statistics(GradientContext& c, const Normalized& x, DType wide) {
  ValueId sum = kNoValue;
  const auto has = [&](std::size_t i) { return c.node().outputs.size() > i && c.gradient(i).valid(); };
  const ValueId count = elements_each(c, x.normal, x.inverse);
  if (has(1)) sum = c.add("Expand", {c.over(c.cast(c.gradient(1), wide), count), c.shape_of(x.normal)});
  if (has(2)) {
    const ValueId i = c.over(c.cast(c.gradient(2), wide), count);
    const ValueId part = c.negative(c.times(c.times(x.normal, i), c.times(x.inverse, x.inverse)));
    sum = sum.valid() ? c.plus(sum, part) : part;
  }
  return sum;
}

// Whether one operator does it: the result alone is read, and scale and bias have the extents of the normalized axes.
bool is_plain_layer(const GradientContext& c, int64_t first) {
  for (std::size_t i = 1; i < c.node().outputs.size(); ++i)
    if (c.gradient(i).valid()) return false;
  const TensorType& x = c.type(c.input(0));
  for (std::size_t i = 1; i < c.input_count(); ++i) {
    const TensorType& type = c.type(c.input(i));
    if (type.dtype != x.dtype || !type.is_static() || type.rank() != x.rank() - first ||
        !std::equal(type.dims->begin(), type.dims->end(), x.dims->begin() + first,
                    [](const Dim& a, const Dim& b) { return a.same_as(b); }))
      return false;
  }
  return true;
}

// y = x̂ · scale + bias over the last axes.
Status layer_normalization_rule(GradientContext& c) {
  HONE_CHECK(expect_rank(c));
  const TensorType& type = c.type(c.input(0));
  const DType dtype = type.dtype;
  const DType wide = statistics_type(dtype);
  HONE_ASSIGN(const int64_t first, normalize_axis(c.attributes().integer("axis", -1), type.rank()));
  if (is_plain_layer(c, first)) {
    const float epsilon = c.attributes().real("epsilon", 1e-5f);
    const auto made = c.add_many("hone.LayerNormalizationGradient", {c.gradient(), c.input(0), c.input(1)}, 3,
                                 {{"axis", first}, {"epsilon", epsilon}});
    for (std::size_t i = 0; i < c.input_count(); ++i) c.set(i, made[i]);
    return {};
  }
  Ints over(static_cast<std::size_t>(type.rank() - first));
  std::iota(over.begin(), over.end(), first);
  const Normalized x = normalized(c, c.cast(c.input(0), wide), over, c.attributes().real("epsilon", 1e-5f));
  ValueId through = kNoValue;
  if (c.gradient().valid()) {
    const ValueId g = c.cast(c.gradient(), wide);
    if (c.wants(0)) through = through_normalized(c, x, c.times(g, c.cast(c.input(1), wide)), over);
    if (c.wants(1)) c.set(1, c.cast(c.summed_to(c.times(g, x.normal), c.input(1)), c.type(c.input(1)).dtype));
    if (c.has_input(2) && c.wants(2)) c.set(2, c.cast(c.summed_to(g, c.input(2)), c.type(c.input(2)).dtype));
  }
  if (!c.wants(0)) return {};
  if (const ValueId more = through_statistics(c, x, wide); more.valid())
    through = through.valid() ? c.plus(through, more) : more;
  c.set(0, c.cast(through, dtype));
  return {};
}

// y = x · r · scale with r = 1 / √(mean(x²) + ε). With h = g · scale: r · (h - x · r² · mean(h · x)).
Status rms_normalization_rule(GradientContext& c) {
  HONE_CHECK(expect_rank(c));
  const TensorType& type = c.type(c.input(0));
  const DType dtype = type.dtype;
  const DType wide = statistics_type(dtype);
  HONE_ASSIGN(const int64_t first, normalize_axis(c.attributes().integer("axis", -1), type.rank()));
  Ints over(static_cast<std::size_t>(type.rank() - first));
  std::iota(over.begin(), over.end(), first);
  const ValueId x = c.cast(c.input(0), wide);
  const ValueId g = c.cast(c.gradient(), wide);
  const ValueId square = c.averaged(c.times(x, x), over);
  const ValueId epsilon = c.scalar(c.attributes().real("epsilon", 1e-5f), square);
  const ValueId r = c.add("Reciprocal", {c.add("Sqrt", {c.plus(square, epsilon)})});
  const ValueId normal = c.times(x, r);
  if (c.wants(0)) {
    const ValueId h = c.times(g, c.cast(c.input(1), wide));
    const ValueId along = c.times(normal, c.averaged(c.times(h, normal), over));
    c.set(0, c.cast(c.times(c.minus(h, along), r), dtype));
  }
  if (c.wants(1)) c.set(1, c.cast(c.summed_to(c.times(g, normal), c.input(1)), c.type(c.input(1)).dtype));
  return {};
}

// One value a channel, in a shape that broadcasts to [N, C, …].
ValueId by_channel(NodeEmitter& c, ValueId value, int64_t rank, DType wide) {
  Ints axes{0};
  for (int64_t i = 2; i < rank; ++i) axes.push_back(i);
  const ValueId narrow = c.cast(value, wide);
  return rank < 2 ? narrow : c.add("Unsqueeze", {narrow, c.ints(axes)});
}

// The sum over all axes but the channels.
ValueId summed_by_channel(GradientContext& c, ValueId value, int64_t rank, ValueId like) {
  Ints axes{0};
  for (int64_t i = 2; i < rank; ++i) axes.push_back(i);
  const ValueId sum = c.add("ReduceSum", {value, c.ints(axes)}, {{"keepdims", int64_t{0}}});
  return c.cast(rank < 2 ? c.reshaped_to(sum, like) : sum, c.type(like).dtype);
}

void set_scale_and_bias(GradientContext& c, ValueId g, ValueId normal, int64_t rank) {
  if (c.wants(1)) c.set(1, summed_by_channel(c, c.times(g, normal), rank, c.input(1)));
  if (c.wants(2)) c.set(2, summed_by_channel(c, g, rank, c.input(2)));
}

// By running statistics, which are inputs like the others.
void inference_batch_rule(GradientContext& c, int64_t rank, DType wide) {
  const DType dtype = c.type(c.input(0)).dtype;
  const auto channel = [&](std::size_t i) { return by_channel(c, c.input(i), rank, wide); };
  const ValueId g = c.cast(c.gradient(), wide);
  const ValueId variance = channel(4);
  const ValueId epsilon = c.scalar(c.attributes().real("epsilon", 1e-5f), variance);
  const ValueId inverse = c.add("Reciprocal", {c.add("Sqrt", {c.plus(variance, epsilon)})});
  const ValueId factor = c.times(channel(1), inverse);
  if (c.wants(0)) c.set(0, c.cast(c.times(g, factor), dtype));
  if (c.wants(1) || c.wants(2) || c.wants(4)) {
    const ValueId normal = c.times(c.minus(c.cast(c.input(0), wide), channel(3)), inverse);
    set_scale_and_bias(c, g, normal, rank);
    if (c.wants(4)) {
      const ValueId steep = c.times(c.times(c.times(g, normal), c.times(factor, inverse)), -0.5);
      c.set(4, summed_by_channel(c, steep, rank, c.input(4)));
    }
  }
  if (c.wants(3)) c.set(3, summed_by_channel(c, c.negative(c.times(g, factor)), rank, c.input(3)));
}

// What flows into the running statistics, momentum · old + (1 - momentum) · batch's: to the old ones, and to x.
ValueId through_running(GradientContext& c, const Normalized& x, int64_t rank, DType wide) {
  const double momentum = c.attributes().real("momentum", 0.9F);
  ValueId sum = kNoValue;
  for (std::size_t i = 1; i < c.node().outputs.size(); ++i) {
    if (!c.gradient(i).valid()) continue;
    if (c.wants(i + 2)) c.set(i + 2, c.times(c.gradient(i), momentum));
    ValueId part = c.times(by_channel(c, c.gradient(i), rank, wide), 1 - momentum);
    part = c.over(part, elements_each(c, x.normal, x.inverse));
    part = i == 1 ? c.add("Expand", {part, c.shape_of(x.centred)}) : c.times(c.times(part, x.centred), 2);
    sum = sum.valid() ? c.plus(sum, part) : part;
  }
  return sum;
}

bool reads_running(const GradientContext& c) {
  for (std::size_t i = 1; i < c.node().outputs.size(); ++i)
    if (c.gradient(i).valid()) return true;
  return false;
}

Status batch_normalization_rule(GradientContext& c) {
  HONE_CHECK(expect_rank(c));
  const int64_t rank = c.type(c.input(0)).rank();
  const DType dtype = c.type(c.input(0)).dtype;
  const DType wide = statistics_type(dtype);
  if (c.attributes().integer("training_mode", 0) == 0) {
    inference_batch_rule(c, rank, wide);
    return {};
  }
  Ints over{0};
  for (int64_t i = 2; i < rank; ++i) over.push_back(i);
  const float epsilon = c.attributes().real("epsilon", 1e-5f);
  ValueId through = kNoValue;
  if (c.gradient().valid()) {
    const auto made = c.add_many("hone.BatchNormalizationGradient", {c.gradient(), c.input(0), c.input(1)}, 3,
                                 {{"epsilon", epsilon}});
    c.set(1, made[1]);
    c.set(2, made[2]);
    through = made[0];
  }
  if (reads_running(c)) {
    const Normalized x = normalized(c, c.cast(c.input(0), wide), over, epsilon);
    const ValueId part = c.cast(through_running(c, x, rank, wide), dtype);
    through = through.valid() ? c.plus(through, part) : part;
  }
  if (through.valid()) c.set(0, through);
  return {};
}

Ints all_but_channels(int64_t rank) {
  Ints axes{0};
  for (int64_t i = 2; i < rank; ++i) axes.push_back(i);
  return axes;
}

// [N, C, …] as [N, groups, all else], in which a group is normalized.
Status group_normalization_rule(GradientContext& c) {
  HONE_CHECK(expect_rank(c));
  const int64_t rank = c.type(c.input(0)).rank();
  const DType dtype = c.type(c.input(0)).dtype;
  const DType wide = statistics_type(dtype);
  const bool instance = c.node().op == "InstanceNormalization";
  const ValueId x = c.cast(c.input(0), wide);
  const ValueId g = c.cast(c.gradient(), wide);
  const int64_t groups = instance ? 0 : c.attributes().integer("num_groups", 1);  // 0: as many as channels
  const auto grouped = [&](ValueId value) { return c.add("Reshape", {value, c.ints({0, groups, -1})}); };
  const Normalized normal = normalized(c, grouped(x), {2}, c.attributes().real("epsilon", 1e-5f));
  if (c.wants(0)) {
    const ValueId h = grouped(c.times(g, by_channel(c, c.input(1), rank, wide)));
    c.set(0, c.cast(c.reshaped_to(through_normalized(c, normal, h, {2}), c.input(0)), dtype));
  }
  if (c.wants(1) || c.wants(2)) set_scale_and_bias(c, g, c.reshaped_to(normal.normal, x), rank);
  return {};
}

// y = x / n with n the norm along an axis: (g - s · Σ g·y) / n, where s is y for the 2-norm, the sign of x for the
// 1-norm. Nothing where n is 0.
Status lp_normalization_rule(GradientContext& c) {
  HONE_CHECK(expect_rank(c));
  const bool one_norm = c.attributes().integer("p", 2) == 1;
  const ValueId x = c.input(0), y = c.output(0), g = c.gradient();
  HONE_ASSIGN(const int64_t axis, normalize_axis(c.attributes().integer("axis", -1), c.type(x).rank()));
  const ValueId norm =
      c.add(one_norm ? "ReduceL1" : "ReduceL2", {x, c.ints({axis})}, {{"keepdims", int64_t{1}}});
  const ValueId side = one_norm ? c.add("Sign", {x}) : y;
  const ValueId part = c.minus(g, c.times(side, c.summed(c.times(g, y), {axis})));
  const ValueId none = c.add("Equal", {norm, c.scalar(0, norm)});
  c.set(0, c.choose(none, c.scalar(0, x), c.over(part, norm)));
  return {};
}

// (x - mean) / (deviation + 1e-9): (h - mean(h) - (x - mean) / deviation · mean(h · y)) with h = g / (deviation +
// 1e-9).
Status mean_variance_rule(GradientContext& c) {
  HONE_CHECK(expect_rank(c));
  Ints axes = c.attributes().ints("axes", {0, 2, 3});
  const ValueId x = c.input(0), y = c.output(0);
  const ValueId centred = c.minus(x, c.averaged(x, axes));
  const ValueId deviation = c.add("Sqrt", {c.averaged(c.times(centred, centred), axes)});
  const ValueId h = c.over(c.gradient(), c.plus(deviation, c.scalar(1e-9, deviation)));
  const ValueId none = c.add("Equal", {deviation, c.scalar(0, deviation)});
  const ValueId unit = c.choose(none, c.scalar(0, x), c.over(centred, deviation));
  c.set(0, c.minus(c.minus(h, c.averaged(h, axes)), c.times(unit, c.averaged(c.times(h, y), axes))));
  return {};
}

// dx, dscale and dbias of g, x and the scale, which varies along the axes that are not in `over` where `channels`, along
// those that are otherwise.
std::vector<ValueId> spelled_out_norm(NodeEmitter& c, ValueId g, ValueId x, ValueId scale, const Ints& over,
                                      const Ints& summed, double epsilon, bool channels) {
  const DType dtype = c.type(x).dtype, wide = statistics_type(dtype);
  const int64_t rank = c.rank_of(x);
  const Normalized n = normalized(c, c.cast(x, wide), over, epsilon);
  g = c.cast(g, wide);
  const ValueId factor = channels ? by_channel(c, scale, rank, wide) : c.cast(scale, wide);
  const auto total = [&](ValueId value) {
    if (summed.empty()) return c.cast(value, c.type(scale).dtype);
    const int64_t keeps = rank < 2 ? 1 : 0;  // [N] has one channel
    return c.cast(c.add("ReduceSum", {value, c.ints(summed)}, {{"keepdims", keeps}}), c.type(scale).dtype);
  };
  return {c.cast(through_normalized(c, n, c.times(g, factor), over), dtype), total(c.times(g, n.normal)),
          total(g)};
}

}  // namespace

Result<std::vector<ValueId>> normalization_gradient_spelled_out(NodeEmitter& c, const Node& node,
                                                                const std::vector<ValueId>& inputs) {
  const ValueId x = inputs[1], scale = inputs[2];
  ValueId g = inputs[0];
  if (!c.type(x).has_rank())
    return unsupported(
        fmt::format("unsupported: {} of a tensor whose rank is not known, in other nodes", node.op));
  const int64_t rank = c.type(x).rank();
  const double epsilon = node.attributes.real("epsilon", 1e-5F);
  if (node.op == "hone.BatchNormalizationGradient") {
    if (inputs.size() > 3)
      g = c.choose(c.add("Greater", {inputs[3], c.scalar(0, inputs[3])}), g, c.scalar(0, g));
    const Ints axes = all_but_channels(rank);
    return spelled_out_norm(c, g, x, scale, axes, axes, epsilon, true);
  }
  HONE_ASSIGN(const int64_t first, normalize_axis(node.attributes.integer("axis", -1), rank));
  Ints over(static_cast<std::size_t>(rank - first)), before(static_cast<std::size_t>(first));
  std::iota(over.begin(), over.end(), first);
  std::iota(before.begin(), before.end(), 0);
  return spelled_out_norm(c, g, x, scale, over, before, epsilon, false);
}

void add_normalization_gradients(OpTable& table) {
  table.set_gradient("BatchNormalization", batch_normalization_rule);
  table.set_gradient("LayerNormalization", layer_normalization_rule);
  table.set_gradient("hone.BatchNormalizationGradient", through_spelled_out);
  table.set_gradient("hone.LayerNormalizationGradient", through_spelled_out);
  table.set_gradient("RMSNormalization", rms_normalization_rule);
  table.set_gradient("GroupNormalization", group_normalization_rule);
  table.set_gradient("InstanceNormalization", group_normalization_rule);
  table.set_gradient("LpNormalization", lp_normalization_rule);
  table.set_gradient("MeanVarianceNormalization", mean_variance_rule);
}

}  // namespace hone::graph
