// Norms and normalisations of planes, windows, channels and lines; Hardmax; determinants of small matrices.
#include <numeric>

#include <fmt/core.h>

#include "core/window.h"
#include "graph/spelled_out/forms.h"

namespace hone::graph {
namespace {

using namespace spelling;

// |x|^p, whose slope at 0 is 0 from p = 2 on.
ValueId power_of(NodeEmitter& e, ValueId x, int64_t p) {
  if (p == 1) return e.add("Abs", {x});
  if (p == 2) return e.times(x, x);
  return e.add("Pow", {e.add("Abs", {x}), e.scalar(static_cast<double>(p), x)});
}

// The p-th root; a sum of nothing but zeros passes no gradient back.
ValueId root_of(NodeEmitter& e, ValueId sum, int64_t p) {
  if (p == 1) return sum;
  const ValueId none = e.add("Equal", {sum, e.scalar(0, sum)});
  const ValueId some = e.choose(none, e.scalar(1, sum), sum);
  const ValueId root =
      p == 2 ? e.add("Sqrt", {some}) : e.add("Pow", {some, e.scalar(1 / static_cast<double>(p), some)});
  return e.choose(none, e.scalar(0, root), root);
}

// With ceil_mode the last windows reach beyond the padding: it becomes as wide as they reach, for an average over it to
// count all their elements.
Status widen_padding(const NodeEmitter& e, ValueId x, Attributes& attributes) {
  if (!e.type(x).is_static())
    return unsupported(fmt::format("unsupported: LpPool with ceil_mode of {}", e.type(x).text()));
  const Shape shape = e.type(x).shape();
  if (shape.size() < 3) return invalid("LpPool of a tensor without spatial axes");
  const Shape in(shape.begin() + 2, shape.end());
  HONE_ASSIGN(WindowSpec windows, read_windows(attributes, {}));
  HONE_ASSIGN(const Shape out, place_windows(windows, in));
  Ints begins, ends;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Window& window = windows.axes[i];
    const int64_t reached = (out[i] - 1) * window.stride + window.reach();
    begins.push_back(window.pad_begin);
    ends.push_back(std::max(window.pad_end, reached - in[i] - window.pad_begin));
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  attributes.erase("auto_pad");
  attributes.erase("ceil_mode");
  attributes.set("pads", std::move(begins));
  return {};
}

}  // namespace

// x / (bias + alpha / size · Σ x²)^beta, the sum over neighbouring channels: an average pool along them, padded by zeros that
// count.
SpelledResult lrn_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  const TensorType& type = e.type(in[0]);
  if (!type.has_rank() || type.rank() < 2 || !(*type.dims)[1].known())
    return unsupported(fmt::format("unsupported: LRN of {}, whose channels are not known", type.text()));
  const int64_t size = node.attributes.integer("size", 1);
  const double alpha = node.attributes.real("alpha", 1e-4F);
  const double beta = node.attributes.real("beta", 0.75F);
  const double bias = node.attributes.real("bias", 1.0F);
  const ValueId x = widened(e, in[0]);
  // [N, C, …] as [N, 1, C, all else]
  const ValueId squares = e.add("Reshape", {e.times(x, x), e.ints({0, 1, (*type.dims)[1].extent(), -1})});
  const ValueId mean = e.add("AveragePool", {squares},
                             {{"kernel_shape", Ints{size, 1}},
                              {"pads", Ints{(size - 1) / 2, 0, size / 2, 0}},
                              {"count_include_pad", int64_t{1}}});
  const ValueId back = e.add("Reshape", {mean, e.shape_of(x)}, {{"allowzero", int64_t{1}}});
  const ValueId scale = e.plus(e.times(back, alpha), e.scalar(bias, x));
  const ValueId y = e.times(x, e.add("Pow", {scale, e.scalar(-beta, scale)}));
  return std::vector<ValueId>{e.cast(y, type.dtype)};
}

SpelledResult norm_of_planes_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  const TensorType& type = e.type(in[0]);
  if (!type.has_rank() || type.rank() < 2)
    return unsupported(fmt::format("unsupported: {} of {}, whose rank is not known", node.op, type.text()));
  Ints axes(static_cast<std::size_t>(type.rank() - 2));
  std::iota(axes.begin(), axes.end(), 2);
  const int64_t p = node.attributes.integer("p", 2);
  const ValueId powers = power_of(e, widened(e, in[0]), p);
  const ValueId y = root_of(e, axes.empty() ? powers : e.summed(powers, axes), p);
  return std::vector<ValueId>{e.cast(y, type.dtype)};
}

// By the mean under each window, padding included, times how many elements a window has.
SpelledResult norm_of_windows_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  const int64_t p = node.attributes.integer("p", 2);
  Attributes attributes = node.attributes;
  attributes.erase("p");
  attributes.set("count_include_pad", int64_t{1});
  if (attributes.integer("ceil_mode", 0) != 0) HONE_CHECK(widen_padding(e, in[0], attributes));
  double count = 1;
  for (const int64_t extent : attributes.ints("kernel_shape")) count *= static_cast<double>(extent);
  const ValueId mean = e.add("AveragePool", {power_of(e, widened(e, in[0]), p)}, std::move(attributes));
  return std::vector<ValueId>{e.cast(root_of(e, e.times(mean, count), p), e.type(in[0]).dtype)};
}

// A line of zeros stays one.
SpelledResult lp_normalization_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  const int64_t p = node.attributes.integer("p", 2);
  if (p != 1 && p != 2) return unsupported(fmt::format("unsupported: LpNormalization with p = {}", p));
  const bool one_norm = p == 1;
  HONE_ASSIGN(const int64_t axis, normalize_axis(node.attributes.integer("axis", -1), e.type(in[0]).rank()));
  const ValueId x = widened(e, in[0]);
  const ValueId norm =
      e.add(one_norm ? "ReduceL1" : "ReduceL2", {x, e.ints({axis})}, {{"keepdims", int64_t{1}}});
  const ValueId none = e.add("Equal", {norm, e.scalar(0, norm)});
  const ValueId y = e.choose(none, e.scalar(0, x), e.over(x, norm));
  return std::vector<ValueId>{e.cast(y, e.type(in[0]).dtype)};
}

// (x - mean) / (deviation + 1e-9); the constant is ONNX's.
SpelledResult mean_variance_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  const Ints axes = node.attributes.ints("axes", {0, 2, 3});
  const ValueId x = widened(e, in[0]);
  const ValueId centred = e.minus(x, e.averaged(x, axes));
  const ValueId deviation = e.add("Sqrt", {e.averaged(e.times(centred, centred), axes)});
  const ValueId y = e.over(centred, e.plus(deviation, e.scalar(1e-9, deviation)));
  return std::vector<ValueId>{e.cast(y, e.type(in[0]).dtype)};
}

// 1 where the first of the largest stands.
SpelledResult hardmax_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  const Shape shape = e.type(in[0]).shape();
  const auto rank = static_cast<int64_t>(shape.size());
  HONE_ASSIGN(const int64_t axis, normalize_axis(node.attributes.integer("axis", -1), rank));
  const ValueId best = e.add("ArgMax", {in[0]}, {{"axis", axis}, {"keepdims", int64_t{1}}});
  Ints places(static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]));
  std::iota(places.begin(), places.end(), 0);
  Shape line(shape.size(), 1);
  line[static_cast<std::size_t>(axis)] = static_cast<int64_t>(places.size());
  const ValueId is_best = e.add("Equal", {e.tensor(Tensor::i64(line, places)), best});
  return std::vector<ValueId>{e.cast(is_best, e.type(in[0]).dtype)};
}

// By cofactors, which of up to three rows need no pivots to be as exact as an elimination.
SpelledResult det_spelled_out(NodeEmitter& e, const Node&, SpelledInputs in) {
  const Shape shape = e.type(in[0]).shape();
  if (shape.size() < 2 || shape.back() < 1 || shape.back() > 3)
    return unsupported(
        fmt::format("determinants of {}: more than three rows need pivots", e.type(in[0]).text()));
  const auto rows = static_cast<std::size_t>(shape.back());
  const Shape batch(shape.begin(), shape.end() - 2);
  const ValueId flat = reshaped(e, widened(e, in[0]), {element_count(batch), shape.back() * shape.back()});
  const std::vector<ValueId> a = slices(e, flat, 1);
  HONE_CHECK(e.status());
  const auto minor = [&](std::size_t i, std::size_t j, std::size_t k, std::size_t l) {
    return e.minus(e.times(a[i], a[l]), e.times(a[j], a[k]));
  };
  ValueId det = a[0];
  if (rows == 2) det = minor(0, 1, 2, 3);
  if (rows == 3)
    det = e.plus(e.minus(e.times(a[0], minor(4, 5, 7, 8)), e.times(a[1], minor(3, 5, 6, 8))),
                 e.times(a[2], minor(3, 4, 6, 7)));
  return std::vector<ValueId>{reshaped(e, e.cast(det, e.type(in[0]).dtype), batch)};
}

}  // namespace hone::graph
