// Rotary embedding, and causal convolution with a state. Linear attention is in linear_attention.cpp.
#include <limits>

#include <fmt/core.h>

#include "graph/spelled_out/forms.h"

namespace hone::graph {
namespace {

using namespace spelling;

struct Rotation {
  int64_t batch = 0, length = 0, heads = 0, size = 0;
  int64_t rotated = 0;  // of the size of a head
  bool packed = false;  // heads lie in the last axis, behind the length
  bool interleaved = false;
};

Result<Rotation> read_rotation(const NodeEmitter& e, const Node& node, SpelledInputs in) {
  const Shape x = e.type(in[0]).shape();
  Rotation r{.packed = x.size() == 3, .interleaved = node.attributes.integer("interleaved", 0) != 0};
  if (x.size() != 3 && x.size() != 4) return invalid(fmt::format("X of shape {}", shape_text(x)));
  r.batch = x[0];
  r.heads = r.packed ? node.attributes.integer("num_heads", 0) : x[1];
  r.length = r.packed ? x[1] : x[2];
  if (r.heads < 1 || x.back() % (r.packed ? r.heads : 1) != 0)
    return invalid(fmt::format("{} heads do not divide X of shape {}", r.heads, shape_text(x)));
  r.size = r.packed ? x[2] / r.heads : x[3];
  r.rotated = node.attributes.integer("rotary_embedding_dim", 0);
  if (r.rotated == 0) r.rotated = r.size;
  if (r.rotated < 2 || r.rotated > r.size || r.rotated % 2 != 0)
    return invalid(fmt::format("rotary_embedding_dim {} does not fit heads of size {}", r.rotated, r.size));
  // Kernels broadcast where the operator does not.
  const bool by_position = given(in, 3);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const Shape cache = e.type(in[i]).shape();
    const int64_t half = r.rotated / 2;
    if (by_position ? cache.size() != 2 || cache[1] != half : cache != Shape{r.batch, r.length, half})
      return invalid(
          fmt::format("a cache of shape {} does not fit X of shape {}", shape_text(cache), shape_text(x)));
  }
  if (by_position && e.type(in[3]).shape() != Shape{r.batch, r.length})
    return invalid("position_ids do not have the batch and length of X");
  return r;
}

// Rows of a cache that are known to be there, or are refused when they are looked up: Gather counts indices below 0 from the
// end, the operator does not.
Result<ValueId> checked_positions(NodeEmitter& e, SpelledInputs in) {
  if (!given(in, 3)) return kNoValue;
  const int64_t rows = e.type(in[1]).shape()[0];
  const Tensor* const known = e.constant_of(in[3]);
  if (known == nullptr) {
    const ValueId below = e.add("Less", {in[3], e.scalar(0, in[3])});
    return e.choose(below, e.scalar(static_cast<double>(rows), in[3]), in[3]);
  }
  for (int64_t i = 0; i < known->size(); ++i)
    if (known->int_at(i) < 0 || known->int_at(i) >= rows)
      return invalid(fmt::format("position {} of a cache of {}", known->int_at(i), rows));
  return in[3];
}

// Of each element of a head the cosine or sine of its angle, [batch, length, rotated]; sines are negative for the first of
// each pair. A cache that is known is laid out once, before the graph runs.
ValueId angles(NodeEmitter& e, const Rotation& r, ValueId cache, ValueId positions, bool sines) {
  const int64_t half = r.rotated / 2;
  Ints pair;
  std::vector<double> signs;
  for (int64_t i = 0; i < r.rotated; ++i) {
    const bool first = r.interleaved ? i % 2 == 0 : i < half;
    pair.push_back(r.interleaved ? i / 2 : i % half);
    signs.push_back(first ? -1 : 1);
  }
  const auto of_elements = [&](ValueId of) {
    const ValueId all =
        e.add("Gather", {of, e.ints(pair)}, {{"axis", static_cast<int64_t>(e.rank_of(of)) - 1}});
    return sines ? e.times(all, numbers(e, e.type(all).dtype, {r.rotated}, signs)) : all;
  };
  const auto at_positions = [&](ValueId of) {
    return positions.valid() ? e.add("Gather", {of, positions}, {{"axis", int64_t{0}}}) : of;
  };
  if (e.constant_of(cache) != nullptr) return at_positions(of_elements(widened(e, cache)));
  return of_elements(widened(e, at_positions(cache)));
}

}  // namespace

// x · cos + partner(x) · ±sin, where the partner of an element is the other one of its pair.
SpelledResult rotary_embedding_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  HONE_ASSIGN(const Rotation r, read_rotation(e, node, in));
  HONE_ASSIGN(const ValueId positions, checked_positions(e, in));
  const DType dtype = e.type(in[0]).dtype;
  const Shape heads =
      r.packed ? Shape{r.batch, r.length, r.heads, r.size} : Shape{r.batch, r.heads, r.length, r.size};
  const ValueId x = reshaped(e, in[0], heads);
  const std::vector<ValueId> parts =
      r.rotated == r.size
          ? std::vector<ValueId>{x}
          : e.add_many("Split", {x, e.ints({r.rotated, r.size - r.rotated})}, 2, {{"axis", int64_t{3}}});
  Shape turned = heads, pairs = heads;
  turned[3] = r.rotated;
  pairs[3] = r.interleaved ? r.rotated / 2 : 2;
  pairs.push_back(r.rotated / pairs[3]);
  const ValueId partners = e.add(
      "Slice", {reshaped(e, parts[0], pairs), e.ints({1}), e.ints({std::numeric_limits<int64_t>::min()}),
                e.ints({r.interleaved ? 4 : 3}), e.ints({-1})});
  const Shape broadcast =
      r.packed ? Shape{r.batch, r.length, 1, r.rotated} : Shape{r.batch, 1, r.length, r.rotated};
  const ValueId cosines = reshaped(e, angles(e, r, in[1], positions, false), broadcast);
  const ValueId sines = reshaped(e, angles(e, r, in[2], positions, true), broadcast);
  const ValueId y = e.plus(e.times(widened(e, parts[0]), cosines),
                           e.times(widened(e, reshaped(e, partners, turned)), sines));
  std::vector<ValueId> results{e.cast(y, dtype)};
  if (parts.size() > 1) results.push_back(parts[1]);
  return std::vector<ValueId>{reshaped(e, joined(e, std::move(results), 3), e.type(in[0]).shape())};
}

namespace {

// Extents of x, -1 where they are open.
struct Sequence {
  int64_t batch = -1, channels = 0, length = -1;
  int64_t taps = 1;
  int64_t kept() const { return taps - 1; }
};

Result<Sequence> read_sequence(const NodeEmitter& e, const Node& node, SpelledInputs in) {
  const TensorType &x = e.type(in[0]), &w = e.type(in[1]);
  if (!w.is_static())
    return unsupported(
        fmt::format("unsupported: {} with a weight {}, whose extents are not known; read the model with "
                    "numbers for its symbols",
                    node.op, w.text()));
  const Shape weight = w.shape();
  if (weight.size() != 3 || weight[1] != 1 || weight[2] < 1)
    return invalid(fmt::format("the weight {} does not fit the input {}", w.text(), x.text()));
  Sequence s{.channels = weight[0], .taps = weight[2]};
  if (!may_have(x, {-1, s.channels, -1}))
    return invalid(fmt::format("the weight {} does not fit the input {}", w.text(), x.text()));
  if (x.has_rank()) s.batch = extent_or_open(x, 0), s.length = extent_or_open(x, 2);
  if (given(in, 2) && !may_have(e.type(in[2]), {s.channels}))
    return invalid(fmt::format("the bias {} does not fit the input {}", e.type(in[2]).text(), x.text()));
  if (given(in, 3) && !may_have(e.type(in[3]), {s.batch, s.channels, s.kept()}))
    return invalid(fmt::format("past_state {} does not fit the input {}", e.type(in[3]).text(), x.text()));
  return s;
}

// Of x behind its state, [batch, channels, length + taps - 1]: a sum of products for one token, for more a depthwise
// convolution over images of one row, or over lines where it is not known how long these are.
ValueId convolved(NodeEmitter& e, const Sequence& s, ValueId all, SpelledInputs in) {
  if (s.length == 1) {
    const ValueId products = e.times(widened(e, all), reshaped(e, widened(e, in[1]), {s.channels, s.taps}));
    const ValueId sum = e.summed(products, {2});
    return given(in, 2) ? e.plus(sum, reshaped(e, widened(e, in[2]), {s.channels, 1})) : sum;
  }
  std::vector<ValueId> operands{all, in[1]};
  if (s.length >= 0)
    operands = {reshaped(e, all, {s.batch, s.channels, 1, s.length + s.kept()}),
                reshaped(e, in[1], {s.channels, 1, 1, s.taps})};
  if (given(in, 2)) operands.push_back(in[2]);
  const ValueId y = e.add("Conv", std::move(operands), {{"group", s.channels}});
  return s.length < 0 ? y : reshaped(e, y, {s.batch, s.channels, s.length});
}

// What the next sequence begins with.
ValueId last_of(NodeEmitter& e, const Sequence& s, ValueId all, DType dtype) {
  if (s.kept() == 0 && s.batch >= 0) return e.tensor(Tensor(dtype, {s.batch, s.channels, 0}));
  if (s.kept() == 0) return sliced(e, all, 2, 0, 0);
  if (s.length >= 0) return sliced(e, all, 2, s.length, s.length + s.kept());
  return sliced(e, all, 2, -s.kept(), std::numeric_limits<int64_t>::max());
}

}  // namespace

// The input behind its state, convolved; its last elements are the next state. Batch and length may be open.
SpelledResult causal_conv_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  HONE_ASSIGN(const Sequence s, read_sequence(e, node, in));
  const std::string activation = node.attributes.text("activation", "none");
  const bool silu = activation == "silu" || activation == "swish";
  if (!silu && activation != "none") return invalid(fmt::format("activation '{}'", activation));
  ValueId all = in[0];
  if (s.kept() > 0)
    all = given(in, 3) ? e.add("Concat", {in[3], in[0]}, {{"axis", int64_t{2}}})
                       : e.add("Pad", {in[0], e.ints({0, 0, s.kept(), 0, 0, 0})});
  const DType dtype = e.type(in[0]).dtype;
  ValueId y = convolved(e, s, all, in);
  if (silu) {
    const ValueId sum = widened(e, y);
    y = e.times(sum, e.add("Sigmoid", {sum}));
  }
  return std::vector<ValueId>{e.cast(y, dtype), node.has_output(1) ? last_of(e, s, all, dtype) : kNoValue};
}

}  // namespace hone::graph
