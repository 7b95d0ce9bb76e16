// Gradients of attention and of rotary embedding. Attention is differentiated through its definition, with the
// scores computed again; nothing of their size is kept from the forward pass.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "graph/gradients/context.h"
#include "graph/spelled_out/forms.h"
#include "graph/spelled_out/spelled_out.h"

namespace hone::graph {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// [batch, length, heads · size] as [batch, heads, length, size].
ValueId split_heads(GradientContext& c, ValueId x, int64_t heads) {
  if (c.rank_of(x) == 4) return x;
  const ValueId apart = c.add("Reshape", {x, c.ints({0, 0, heads, -1})});
  return c.add("Transpose", {apart}, {{"perm", Ints{0, 2, 1, 3}}});
}

ValueId join_heads(GradientContext& c, ValueId x, bool packed) {
  if (!packed) return x;
  const ValueId rows = c.add("Transpose", {x}, {{"perm", Ints{0, 2, 1, 3}}});
  return c.add("Reshape", {rows, c.ints({0, 0, -1})});
}

// Each key or value head again for all query heads that share it.
Result<ValueId> repeated_heads(GradientContext& c, ValueId x, int64_t queries) {
  const TensorType& type = c.type(x);
  if (!type.has_rank() || !(*type.dims)[1].known() || !(*type.dims)[3].known())
    return unsupported(
        fmt::format("unsupported: the gradient of Attention with {} as heads of a number or size that is not "
                    "known",
                    type.text()));
  const int64_t heads = (*type.dims)[1].extent(), size = (*type.dims)[3].extent();
  if (heads == queries) return x;
  const ValueId each = c.add("Unsqueeze", {x, c.ints({2})});
  const ValueId all = c.add("Expand", {each, c.ints({1, 1, queries / heads, 1, 1})});
  return c.add("Reshape", {all, c.ints({0, queries, -1, size})});
}

// 0, 1, 2, … along axis `axis` of `like`, with `axes` around it.
ValueId positions(GradientContext& c, ValueId like, int64_t axis, const Ints& axes) {
  const TensorType& type = c.type(like);
  const Dim& dim = (*type.dims)[static_cast<std::size_t>(axis)];
  const ValueId count =
      dim.known() ? c.integer(dim.extent()) : c.add("Gather", {c.add("Shape", {like}), c.integer(axis)});
  return c.add("Unsqueeze", {c.add("Range", {c.integer(0), count, c.integer(1)}), c.ints(axes)});
}

// The additive or boolean mask; keys that it has no place for are masked out.
Result<ValueId> masked(GradientContext& c, ValueId scores, ValueId mask) {
  const TensorType& type = c.type(mask);
  const TensorType& wanted = c.type(scores);
  if (!type.has_rank() || type.rank() < 1)
    return unsupported("unsupported: the gradient of Attention with a mask whose rank is not known");
  const bool boolean = type.dtype == DType::kBool;
  const Dim& own = type.dims->back();
  const Dim& keys = wanted.dims->back();
  const bool one = own.known() && own.extent() == 1;
  if (!one && !own.same_as(keys)) {
    if (!own.known() || !keys.known())
      return unsupported(
          fmt::format("unsupported: the gradient of Attention where {} may mask fewer keys than {} has",
                      type.text(), wanted.text()));
    Ints pads(static_cast<std::size_t>(2 * type.rank()), 0);
    pads.back() = keys.extent() - own.extent();
    // Of a boolean mask as well as of an additive one: what is put there must mask.
    const ValueId added =
        boolean ? c.choose(mask, c.scalar(0, scores), c.scalar(kMinusInfinity, scores)) : mask;
    mask = c.add("Pad", {added, c.ints(pads), c.scalar(kMinusInfinity, added)});
    return c.plus(scores, c.cast(mask, wanted.dtype));
  }
  if (boolean) return c.choose(mask, scores, c.scalar(kMinusInfinity, scores));
  return c.plus(scores, c.cast(mask, wanted.dtype));
}

// Which keys each query may see.
ValueId admitted(GradientContext& c, ValueId scores, const std::vector<ValueId>& in) {
  if (c.attributes().integer("is_causal", 0) != 0) {
    ValueId last = positions(c, scores, 2, {1});
    if (c.has_input(4)) last = c.plus(last, c.add("Gather", {c.shape_of(in[4]), c.integer(2)}));
    const ValueId seen = c.add("LessOrEqual", {positions(c, scores, 3, {0}), last});
    scores = c.choose(seen, scores, c.scalar(kMinusInfinity, scores));
  }
  if (c.has_input(6)) {
    const ValueId count = c.add("Unsqueeze", {c.cast(in[6], DType::kI64), c.ints({1, 2, 3})});
    const ValueId there = c.add("Less", {positions(c, scores, 3, {0}), count});
    scores = c.choose(there, scores, c.scalar(kMinusInfinity, scores));
  }
  return scores;
}

Result<std::vector<ValueId>> attention_by_products(GradientContext& c, const std::vector<ValueId>& in) {
  const Attributes& attributes = c.attributes();
  const bool packed = c.rank_of(in[0]) == 3;
  const int64_t kv_heads = attributes.integer("kv_num_heads", 0);
  const ValueId q = split_heads(c, in[0], attributes.integer("q_num_heads", 0));
  ValueId k = split_heads(c, in[1], kv_heads);
  ValueId v = split_heads(c, in[2], kv_heads);
  if (c.has_input(4)) k = c.add("Concat", {in[4], k}, {{"axis", int64_t{2}}});
  if (c.has_input(5)) v = c.add("Concat", {in[5], v}, {{"axis", int64_t{2}}});
  HONE_CHECK(c.status());
  const TensorType& type = c.type(q);
  if (!type.has_rank() || !(*type.dims)[1].known() || !(*type.dims)[3].known())
    return unsupported("unsupported: the gradient of Attention of heads whose number or size is not known");
  const int64_t heads = (*type.dims)[1].extent();
  std::vector<ValueId> outputs{kNoValue, k, v, kNoValue};
  HONE_ASSIGN(const ValueId keys, repeated_heads(c, k, heads));
  HONE_ASSIGN(const ValueId values, repeated_heads(c, v, heads));

  const int64_t stage = attributes.integer("qk_matmul_output_mode", 0);
  const double scale = attributes.has("scale") ? static_cast<double>(attributes.real("scale", 1))
                                               : 1 / std::sqrt(static_cast<double>((*type.dims)[3].extent()));
  const ValueId keys_across = c.add("Transpose", {keys}, {{"perm", Ints{0, 1, 3, 2}}});
  const DType wide = type.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  ValueId scores = c.cast(c.times(c.add("MatMul", {q, keys_across}), scale), wide);
  if (stage == 0) outputs[3] = c.cast(scores, type.dtype);
  if (const double cap = attributes.real("softcap", 0); cap > 0)
    scores = c.times(c.add("Tanh", {c.times(scores, 1 / cap)}), cap);
  if (stage == 1) outputs[3] = c.cast(scores, type.dtype);
  HONE_CHECK(c.status());
  if (c.has_input(3)) {
    HONE_ASSIGN(scores, masked(c, scores, in[3]));
  }
  scores = admitted(c, scores, in);
  if (stage == 2) outputs[3] = c.cast(scores, type.dtype);
  const ValueId weights = c.cast(c.add("Softmax", {scores}, {{"axis", int64_t{-1}}}), type.dtype);
  if (stage == 3) outputs[3] = weights;
  outputs[0] = join_heads(c, c.add("MatMul", {weights, c.cast(values, type.dtype)}), packed);
  outputs.resize(c.node().outputs.size());
  return outputs;
}

// Whether one operator does it: the output alone is read, of queries, keys and values without a cache, a cap or a mask that
// is learnt.
bool is_plain_attention(const GradientContext& c) {
  for (std::size_t i = 1; i < c.node().outputs.size(); ++i)
    if (c.gradient(i).valid()) return false;
  for (std::size_t i = 4; i < c.input_count(); ++i)
    if (c.has_input(i)) return false;
  const Attributes& a = c.attributes();
  return a.real("softcap", 0) == 0 && a.integer("softmax_precision", 1) == 1 &&
         !(c.has_input(3) && c.wants(3));
}

Status attention_rule(GradientContext& c) {
  for (std::size_t i = 0; i < 3; ++i)
    if (!c.type(c.input(i)).has_rank())
      return unsupported("unsupported: the gradient of Attention of tensors whose rank is not known");
  if (!is_plain_attention(c)) return c.set_through(attention_by_products);
  Attributes attributes;
  for (const char* name : {"is_causal", "kv_num_heads", "q_num_heads"})
    if (c.attributes().has(name)) attributes.set(name, c.attributes().integer(name, 0));
  if (c.attributes().has("scale")) attributes.set("scale", c.attributes().real("scale", 1));
  const auto made =
      c.add_many("hone.AttentionGradient",
                 {c.input(0), c.input(1), c.input(2), c.has_input(3) ? c.input(3) : kNoValue, c.gradient()},
                 3, std::move(attributes));
  for (std::size_t i = 0; i < 3; ++i) c.set(i, made[i]);
  return {};
}

// A turn by an angle, backwards: by its negative.
Status rotary_rule(GradientContext& c) {
  if (c.wants(1) || c.wants(2))
    return unsupported("unsupported: the gradient of RotaryEmbedding with respect to its tables");
  std::vector<ValueId> inputs = c.node().inputs;
  inputs[0] = c.gradient();
  inputs[2] = c.negative(inputs[2]);
  c.set(0, c.add("RotaryEmbedding", std::move(inputs), c.attributes()));
  return {};
}

}  // namespace

// Behind Identities, as a gradient's products are (set_through): what both compute is then the same expression.
Result<std::vector<ValueId>> attention_spelled_out(NodeEmitter& emitter, const Node& node,
                                                   const std::vector<ValueId>& inputs) {
  GradientContext context(emitter.builder(), node, std::vector<ValueId>(node.outputs.size(), kNoValue),
                          std::vector<bool>(node.inputs.size(), false), emitter.provenance());
  for (std::size_t i = 0; i < 3; ++i)
    if (!context.type(inputs[i]).has_rank())
      return unsupported("unsupported: Attention of tensors whose rank is not known, in other nodes");
  std::vector<ValueId> stand_ins;
  for (const ValueId input : inputs)
    stand_ins.push_back(
        input.valid() && context.constant_of(input) == nullptr ? context.add("Identity", {input}) : input);
  HONE_ASSIGN(std::vector<ValueId> outputs, attention_by_products(context, stand_ins));
  HONE_CHECK(context.status());
  return outputs;
}

Result<std::vector<ValueId>> attention_gradient_spelled_out(NodeEmitter& emitter, const Node& node,
                                                            const std::vector<ValueId>& inputs) {
  Node attention = node;
  attention.op = "Attention";
  attention.inputs.assign(inputs.begin(), inputs.begin() + 3);
  if (inputs[3].valid()) attention.inputs.push_back(inputs[3]);
  attention.outputs = {kNoValue};
  std::vector<bool> wanted(attention.inputs.size(), false);
  std::fill_n(wanted.begin(), 3, true);
  GradientContext context(emitter.builder(), std::move(attention), {inputs[4]}, std::move(wanted),
                          emitter.provenance());
  for (std::size_t i = 0; i < 3; ++i)
    if (!context.type(inputs[i]).has_rank())
      return unsupported("unsupported: the gradient of Attention of tensors whose rank is not known");
  HONE_CHECK(context.set_through(attention_by_products));
  HONE_CHECK(context.status());
  std::vector<ValueId> gradients = context.input_gradients();
  gradients.resize(3);
  return gradients;
}

void add_attention_gradients(OpTable& table) {
  table.set_gradient("Attention", attention_rule);
  table.set_gradient("hone.AttentionGradient", through_spelled_out);
  table.set_gradient("RotaryEmbedding", rotary_rule);
  table.set_gradient("LinearAttention", through_spelled_out);
}

}  // namespace hone::graph
