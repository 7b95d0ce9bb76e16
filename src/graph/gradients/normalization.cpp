// Gradients of normalizations, with the statistics computed again: they are cheap beside keeping the
// normalized values.
#include <numeric>

#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

// y = x̂ · scale + bias, where x̂ = (x - mean) / deviation over the last axes. With h = g · scale:
// ∂x = (h - mean(h) - x̂ · mean(h · x̂)) / deviation.
Status layer_normalization_rule(GradientContext& c) {
  for (std::size_t i = 1; i < c.node().outputs.size(); ++i)
    if (c.gradient(i).valid())
      return unsupported("unsupported: the gradient of LayerNormalization through its statistics");
  const TensorType& type = c.type(c.input(0));
  if (!type.has_rank())
    return unsupported("unsupported: the gradient of LayerNormalization of a tensor whose rank is not known");
  const DType dtype = type.dtype;
  const DType wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  HONE_ASSIGN(const int64_t first, normalize_axis(c.attributes().integer("axis", -1), type.rank()));
  Ints over(static_cast<std::size_t>(type.rank() - first));
  std::iota(over.begin(), over.end(), first);
  const ValueId axes = c.ints(over);
  const auto mean = [&](ValueId value) { return c.add("ReduceMean", {value, axes}); };

  const ValueId x = c.cast(c.input(0), wide);
  const ValueId g = c.cast(c.gradient(), wide);
  const ValueId centred = c.minus(x, mean(x));
  const ValueId variance = mean(c.times(centred, centred));
  const ValueId epsilon = c.scalar(c.attributes().real("epsilon", 1e-5f), variance);
  const ValueId inverse = c.add("Reciprocal", {c.add("Sqrt", {c.plus(variance, epsilon)})});
  const ValueId normal = c.times(centred, inverse);
  if (c.wants(0)) {
    const ValueId h = c.times(g, c.cast(c.input(1), wide));
    const ValueId along = c.times(normal, mean(c.times(h, normal)));
    c.set(0, c.cast(c.times(c.minus(c.minus(h, mean(h)), along), inverse), dtype));
  }
  if (c.wants(1)) c.set(1, c.cast(c.summed_to(c.times(g, normal), c.input(1)), dtype));
  if (c.has_input(2) && c.wants(2)) c.set(2, c.cast(c.summed_to(g, c.input(2)), dtype));
  return {};
}

}  // namespace

void add_normalization_gradients(OpTable& table) {
  table.set_gradient("LayerNormalization", layer_normalization_rule);
}

}  // namespace hone::graph
