// Linear attention: a state S of [size, value_size] for each head, token by token. S ← decay · S; with the delta rule
// v ← beta · (v - kᵀS); S ← S + k·v; y = scale · qᵀS.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "graph/spelled_out/forms.h"

namespace hone::graph {
namespace {

using namespace spelling;

// A logarithm below which a decay is nothing in f32. Sums of them tell what stands behind one, which those of -inf do not.
constexpr double kLeastDecay = -100;
constexpr int64_t kMostParts = 32;      // of a sequence: a dozen nodes each
constexpr int64_t kTokensOfAPart = 64;  // where all of a part are computed at once

struct LinearAttention {
  int64_t batch = -1;                         // -1: open
  int64_t length = 0, heads = 0, shared = 0;  // `shared`: heads of queries to a state
  int64_t size = 0, value_size = 0;
  bool gated = false, delta = false;
  int64_t decay_width = 1;  // of a head: one decay, or one for each row of the state
  int64_t rate_width = 1;   // of a token: one beta, or one for each head
  double scale = 1;
  DType dtype = DType::kF32, state_type = DType::kF32;
  Shape state_shape() const { return {batch, heads, size, value_size}; }
  // A part's tokens multiply each other through one number a pair: no correction by what was written before, no decay a row.
  bool by_parts() const { return !delta && decay_width == 1; }
};

Status read_rule(const NodeEmitter& e, SpelledInputs in, LinearAttention& l, const std::string& rule) {
  l.gated = rule == "gated" || rule == "gated_delta";
  l.delta = rule == "delta" || rule == "gated_delta";
  if ((!l.gated && !l.delta && rule != "linear") || l.gated != given(in, 4) || l.delta != given(in, 5))
    return invalid(fmt::format("update_rule '{}' does not fit the given inputs", rule));
  if (l.gated) {
    const TensorType& decay = e.type(in[4]);
    l.decay_width = may_have(decay, {l.batch, l.length, l.heads}) ? 1 : l.size;
    if (!may_have(decay, {l.batch, l.length, l.heads * l.decay_width}))
      return invalid("decay does not fit the keys");
  }
  if (l.delta) {
    const TensorType& rate = e.type(in[5]);
    l.rate_width = may_have(rate, {l.batch, l.length, 1}) ? 1 : l.heads;
    if (!may_have(rate, {l.batch, l.length, l.rate_width})) return invalid("beta does not fit the keys");
  }
  return {};
}

// What is behind the batch must be known: it says how many heads, rows and tokens there are.
Status check_extents(const NodeEmitter& e, const Node& node, SpelledInputs in) {
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!given(in, i)) continue;
    const TensorType& type = e.type(in[i]);
    const bool open =
        !type.has_rank() || std::any_of(type.dims->begin() + (type.rank() > 0 ? 1 : 0), type.dims->end(),
                                        [](const Dim& dim) { return !dim.known(); });
    if (open)
      return unsupported(
          fmt::format("unsupported: {} of {}, of which more than the batch is open; read the model with "
                      "numbers for its symbols",
                      node.op, type.text()));
    if (i < 3 && type.rank() != 3) return invalid(fmt::format("{} of {}", node.op, type.text()));
  }
  return {};
}

Shape extents_of(const TensorType& type) {
  Shape extents;
  for (std::size_t axis = 0; axis < type.dims->size(); ++axis) extents.push_back(extent_or_open(type, axis));
  return extents;
}

Result<LinearAttention> read_linear(const NodeEmitter& e, const Node& node, SpelledInputs in) {
  HONE_CHECK(check_extents(e, node, in));
  const Shape q = extents_of(e.type(in[0])), k = extents_of(e.type(in[1])), v = extents_of(e.type(in[2]));
  LinearAttention l{.batch = std::max({q[0], k[0], v[0]}),
                    .length = q[1],
                    .heads = node.attributes.integer("kv_num_heads", 0)};
  const int64_t query_heads = node.attributes.integer("q_num_heads", 0);
  if (l.heads < 1 || query_heads < 1 || query_heads % l.heads != 0 || k[2] % l.heads != 0 ||
      v[2] % l.heads != 0 || q[2] != k[2] / l.heads * query_heads || k[1] != q[1] || v[1] != q[1] ||
      !may_have(e.type(in[0]), {l.batch, q[1], q[2]}) || !may_have(e.type(in[1]), {l.batch, k[1], k[2]}) ||
      !may_have(e.type(in[2]), {l.batch, v[1], v[2]}))
    return invalid("query, key and value do not fit together");
  l.shared = query_heads / l.heads;
  l.size = k[2] / l.heads;
  l.value_size = v[2] / l.heads;
  const double own = node.attributes.real("scale", 0);
  l.scale = own != 0 ? own : 1 / std::sqrt(static_cast<double>(l.size));
  l.dtype = e.type(in[0]).dtype;
  l.state_type = given(in, 3) ? e.type(in[3]).dtype : l.dtype;
  HONE_CHECK(read_rule(e, in, l, node.attributes.text("update_rule", "gated_delta")));
  if (given(in, 3) && !may_have(e.type(in[3]), l.state_shape()))
    return invalid("past_state does not fit the keys and values");
  const int64_t most = kMostParts * (l.by_parts() ? kTokensOfAPart : 1);
  if (l.length > most)
    return unsupported(
        fmt::format("a recurrence over {} tokens; of this rule up to {} are spelled out", l.length, most));
  return l;
}

// What tokens [begin, end) read, in the type that is computed in.
struct Part {
  int64_t tokens = 0;
  ValueId queries = kNoValue;  // [batch, heads, shared · tokens, size]
  ValueId keys = kNoValue;     // [batch, heads, tokens, size]
  ValueId values = kNoValue;   // [batch, heads, tokens, value_size]
  ValueId decays = kNoValue;   // logarithms, [batch, heads, decay_width, tokens]
  ValueId rates = kNoValue;    // [batch, rate_width, tokens, 1]
};

// [batch, length, heads · inner] as [batch, heads, tokens, inner].
ValueId heads_of(NodeEmitter& e, ValueId x, int64_t begin, int64_t end, int64_t heads) {
  const Shape all = extents_of(e.type(x));
  const ValueId part = widened(e, sliced(e, x, 1, begin, end));
  const Shape apart{all[0], end - begin, heads, all[2] / heads};
  if (end - begin == 1) return reshaped(e, part, {all[0], heads, 1, all[2] / heads});
  return transposed(e, reshaped(e, part, apart), {0, 2, 1, 3});
}

Part read_part(NodeEmitter& e, const LinearAttention& l, SpelledInputs in, int64_t begin, int64_t end) {
  Part part{.tokens = end - begin};
  part.queries = reshaped(e, heads_of(e, in[0], begin, end, l.heads * l.shared),
                          {l.batch, l.heads, l.shared * part.tokens, l.size});
  part.keys = heads_of(e, in[1], begin, end, l.heads);
  part.values = heads_of(e, in[2], begin, end, l.heads);
  if (l.gated) part.decays = transposed(e, heads_of(e, in[4], begin, end, l.heads), {0, 1, 3, 2});
  if (l.delta) part.rates = heads_of(e, in[5], begin, end, l.rate_width);
  return part;
}

// One token. `state` is the next one afterwards; returns what the queries read of it.
ValueId after_token(NodeEmitter& e, const LinearAttention& l, const Part& part, ValueId& state) {
  if (state.valid() && l.gated) state = e.times(state, e.add("Exp", {part.decays}));
  ValueId value = part.values;
  if (l.delta) {
    if (state.valid()) value = e.minus(value, e.add("MatMul", {part.keys, state}));
    value = e.times(value, part.rates);
  }
  const ValueId written = e.times(reshaped(e, part.keys, {l.batch, l.heads, l.size, 1}), value);
  state = state.valid() ? e.plus(state, written) : written;
  return e.add("MatMul", {part.queries, state});
}

// Several tokens: each reads what the state holds, and of those before it in the part (and itself) the values by the products
// of query and key. With g the sums of the logarithms of decays, what token j wrote has decayed by exp(g_i - g_j) at token i.
ValueId after_part(NodeEmitter& e, const LinearAttention& l, const Part& part, ValueId& state) {
  const int64_t n = part.tokens;
  const ValueId keys_by_rows = transposed(e, part.keys, {0, 1, 3, 2});
  const Shape pairs{l.batch, l.heads, l.shared, n, n}, rows{l.batch, l.heads, l.shared * n, n};
  const ValueId scores = reshaped(e, e.add("MatMul", {part.queries, keys_by_rows}), pairs);
  Tensor seen(DType::kBool, {n, n});
  for (int64_t i = 0; i < n * n; ++i)
    seen.as<uint8_t>()[static_cast<std::size_t>(i)] = i % n <= i / n ? 1 : 0;
  const ValueId mask = e.tensor(std::move(seen));
  ValueId weights = scores, reading = part.queries, written = keys_by_rows, kept = state;
  if (l.gated) {
    const ValueId decays = e.add("Max", {part.decays, e.scalar(kLeastDecay, part.decays)});
    const ValueId g = e.add("CumSum", {decays, e.integer(3)});  // [batch, heads, 1, n]
    const ValueId column = reshaped(e, g, {l.batch, l.heads, n, 1}), last = sliced(e, g, 3, n - 1, n);
    weights = e.times(scores, reshaped(e, e.add("Exp", {e.minus(column, g)}), {l.batch, l.heads, 1, n, n}));
    written = e.times(written, e.add("Exp", {e.minus(last, g)}));
    if (state.valid()) {
      kept = e.times(state, e.add("Exp", {last}));
      const ValueId apart = reshaped(e, reading, {l.batch, l.heads, l.shared, n, l.size});
      const ValueId decayed = e.add("Exp", {reshaped(e, g, {l.batch, l.heads, 1, n, 1})});
      reading = reshaped(e, e.times(apart, decayed), {l.batch, l.heads, l.shared * n, l.size});
    }
  }
  const ValueId own = e.choose(mask, weights, e.scalar(0, weights));
  const ValueId of_part = e.add("MatMul", {reshaped(e, own, rows), part.values});
  const ValueId result = state.valid() ? e.plus(e.add("MatMul", {reading, state}), of_part) : of_part;
  const ValueId all = e.add("MatMul", {written, part.values});
  state = kept.valid() ? e.plus(kept, all) : all;
  return result;
}

}  // namespace

SpelledResult linear_attention_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  HONE_ASSIGN(const LinearAttention l, read_linear(e, node, in));
  ValueId state = given(in, 3) ? e.cast(in[3], wide(l.dtype)) : kNoValue;  // kNoValue: zeros
  const int64_t most = l.by_parts() ? kTokensOfAPart : 1;
  std::vector<ValueId> results;
  for (int64_t begin = 0; begin < l.length && e.status().ok(); begin += most) {
    const Part part = read_part(e, l, in, begin, std::min(l.length, begin + most));
    const ValueId read = part.tokens == 1 ? after_token(e, l, part, state) : after_part(e, l, part, state);
    const ValueId heads = reshaped(e, e.cast(e.times(read, l.scale), l.dtype),
                                   {l.batch, l.heads * l.shared, part.tokens, l.value_size});
    const ValueId tokens = part.tokens == 1 ? heads : transposed(e, heads, {0, 2, 1, 3});
    results.push_back(reshaped(e, tokens, {l.batch, part.tokens, l.heads * l.shared * l.value_size}));
  }
  HONE_CHECK(e.status());
  return std::vector<ValueId>{joined(e, std::move(results), 1),
                              node.has_output(1) ? e.cast(state, l.state_type) : kNoValue};
}

}  // namespace hone::graph
