// Attention, linear attention and rotary embedding.
#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"
#include "graph/ops/parts.h"

namespace hone::graph {
namespace {

// Query, key or value as batch, heads, length, size; the rank of the input was 3 or 4.
struct HeadDims {
  Dim batch, heads, length, size;
};

Result<HeadDims> head_dims(const InferContext& context, std::size_t input, std::string_view heads_attribute) {
  const TensorType& type = context.input(input);
  if (!type.has_rank()) return HeadDims{};
  const Dims& dims = *type.dims;
  if (dims.size() == 4) return HeadDims{dims[0], dims[1], dims[2], dims[3]};
  if (dims.size() != 3)
    return context.error(fmt::format("input {} is {}, must have rank 3 or 4", input, type.text()));
  const int64_t heads = context.attributes().integer(heads_attribute, 0);
  if (heads < 1)
    return context.error(fmt::format("attribute {} is required for inputs of rank 3", heads_attribute));
  if (dims[2].known() && dims[2].extent() % heads != 0) {
    return context.error(
        fmt::format("input {} is {}, does not divide into {} heads", input, type.text(), heads));
  }
  return HeadDims{dims[0], heads, dims[1], infer::quotient(dims[2], heads)};
}

Dim past_length(const InferContext& context, std::size_t input) {
  if (!context.has_input(input)) return 0;
  const TensorType& type = context.input(input);
  return type.has_rank() && type.rank() == 4 ? (*type.dims)[2] : Dim();
}

Status infer_attention(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_same_dtype(context, 0, 1));
  HONE_ASSIGN(const HeadDims q, head_dims(context, 0, "q_num_heads"));
  HONE_ASSIGN(const HeadDims k, head_dims(context, 1, "kv_num_heads"));
  HONE_ASSIGN(const HeadDims v, head_dims(context, 2, "kv_num_heads"));
  if (k.heads.known() && q.heads.known() &&
      (k.heads.extent() == 0 || q.heads.extent() % k.heads.extent() != 0)) {
    return context.error(
        fmt::format("{} query heads are no multiple of {} key heads", q.heads.extent(), k.heads.extent()));
  }
  const DType dtype = context.input(0).dtype;
  if (!context.input(0).has_rank()) {
    context.set_output(0, unranked(dtype));
  } else if (context.input(0).rank() == 3) {
    context.set_output(0, tensor_type(dtype, Dims{q.batch, q.length, infer::product(q.heads, v.size)}));
  } else {
    context.set_output(0, tensor_type(dtype, Dims{q.batch, q.heads, q.length, v.size}));
  }
  const Dim keys = infer::sum(past_length(context, 4), k.length);
  const Dim values = infer::sum(past_length(context, 5), v.length);
  context.set_output(1, tensor_type(context.input(1).dtype, Dims{k.batch, k.heads, keys, k.size}));
  context.set_output(2, tensor_type(context.input(2).dtype, Dims{v.batch, v.heads, values, v.size}));
  context.set_output(3, tensor_type(dtype, Dims{q.batch, q.heads, q.length, keys}));
  return {};
}

// Outputs: Y, and the logarithm of each query's sum of exponentials, [batch, heads, queries].
Status infer_attention_with_sums(InferContext& context) {
  HONE_CHECK(infer_attention(context));
  HONE_ASSIGN(const HeadDims q, head_dims(context, 0, "q_num_heads"));
  const TensorType sums = context.input(0).has_rank()
                              ? tensor_type(DType::kF32, Dims{q.batch, q.heads, q.length})
                              : unranked(DType::kF32);
  context.set_output(1, sums);
  return {};
}

// Inputs: Q, K, V, mask (may be absent), the gradient of the output; and, where they are kept, the output and its sums.
Status infer_attention_gradient(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  for (const std::size_t input : {1, 2, 4}) HONE_CHECK(infer::expect_same_dtype(context, 0, input));
  HONE_ASSIGN(const HeadDims q, head_dims(context, 0, "q_num_heads"));
  HONE_ASSIGN(const HeadDims k, head_dims(context, 1, "kv_num_heads"));
  HONE_ASSIGN(const HeadDims v, head_dims(context, 2, "kv_num_heads"));
  HONE_ASSIGN(const HeadDims dy, head_dims(context, 4, "q_num_heads"));
  const auto differ = [](const Dim& a, const Dim& b) {
    return a.known() && b.known() && a.extent() != b.extent();
  };
  if (differ(q.length, dy.length) || differ(q.heads, dy.heads) || differ(v.size, dy.size))
    return context.error(fmt::format("the output's gradient is {}, but the output of {} and {} is not",
                                     context.input(4).text(), context.input(0).text(),
                                     context.input(2).text()));
  if (differ(k.length, v.length) || differ(q.size, k.size))
    return context.error("queries, keys and values do not fit together");
  if (context.has_input(5) != context.has_input(6))
    return context.error("the output and its sums come together or not at all");
  if (context.has_input(5)) HONE_CHECK(infer::expect_same_dtype(context, 4, 5));
  for (std::size_t i = 0; i < 3; ++i) context.set_output(i, context.input(i));
  return {};
}

Status infer_rotary(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_same_dtype(context, 0, 1));
  HONE_CHECK(infer::expect_same_dtype(context, 0, 2));
  HONE_ASSIGN(const HeadDims x, head_dims(context, 0, "num_heads"));
  (void)x;  // checked only
  return infer::same_as_first(context);
}

Status infer_linear_attention(InferContext& context) {
  for (std::size_t i = 0; i < 3; ++i) HONE_CHECK(infer::expect_rank(context, i, 3));
  HONE_ASSIGN(const HeadDims q, head_dims(context, 0, "q_num_heads"));
  HONE_ASSIGN(const HeadDims k, head_dims(context, 1, "kv_num_heads"));
  HONE_ASSIGN(const HeadDims v, head_dims(context, 2, "kv_num_heads"));
  context.set_output(
      0, tensor_type(context.input(0).dtype, Dims{q.batch, q.length, infer::product(q.heads, v.size)}));
  const DType state = context.has_input(3) ? context.input(3).dtype : context.input(0).dtype;
  context.set_output(1, tensor_type(state, Dims{k.batch, k.heads, k.size, v.size}));
  return {};
}

struct AttentionSizes {
  double batch, heads, queries, keys, size, value_size;
};

AttentionSizes attention_sizes(const CostContext& context) {
  const Shape q = context.in(0).shape();
  const Shape k = context.in(1).shape();
  const Shape v = context.in(2).shape();
  const Attributes& attributes = context.node.attributes;
  const double past =
      context.node.op == "Attention" && context.inputs.size() > 4 && context.inputs[4] != nullptr
          ? static_cast<double>(context.in(4).shape()[2])
          : 0;
  const auto number = [](int64_t i) { return static_cast<double>(i); };
  if (q.size() == 4)
    return {number(q[0]), number(q[1]), number(q[2]), number(k[2]) + past, number(q[3]), number(v[3])};
  const double heads = number(attributes.integer("q_num_heads", 1));
  const double kv_heads = number(attributes.integer("kv_num_heads", 1));
  return {number(q[0]),           heads, number(q[1]), number(k[1]) + past, number(q[2]) / heads,
          number(v[2]) / kv_heads};
}

// QKᵀ and PV: 2 · batch · heads · queries · keys · (head size + value head size), the count of
// FlashAttention-2 (Dao 2023, section 4.1), here without halving for causal masks, whose products ONNX
// defines in full; plus 5 for each score: scale, maximum, subtract-and-exponentiate, sum, divide.
double attention_flops(const CostContext& context) {
  const AttentionSizes s = attention_sizes(context);
  const double scores = s.batch * s.heads * s.queries * s.keys;
  return scores * (2 * (s.size + s.value_size) + 5);
}

// Five products (scores, the weights' gradient, those of Q, K and V) and 9 for each score.
double attention_gradient_flops(const CostContext& context) {
  const AttentionSizes s = attention_sizes(context);
  const double scores = s.batch * s.heads * s.queries * s.keys;
  return scores * (2 * (3 * s.size + 2 * s.value_size) + 9);
}

// For each token and head: the state (size × value size) is decayed, read for the correction, written, read.
double linear_attention_flops(const CostContext& context) {
  const Shape q = context.in(0).shape();
  const double tokens = static_cast<double>(q[0]) * static_cast<double>(q[1]);
  const Shape state = context.outputs.size() > 1 && context.outputs[1] != nullptr ? context.out(1).shape()
                                                                                  : Shape{0, 0, 0, 0};
  const double elements =
      static_cast<double>(state[1]) * static_cast<double>(state[2]) * static_cast<double>(state[3]);
  const double q_heads = static_cast<double>(context.node.attributes.integer("q_num_heads", 1));
  const double kv_heads = static_cast<double>(context.node.attributes.integer("kv_num_heads", 1));
  const std::string rule = context.node.attributes.text("update_rule", "gated_delta");
  const double update = 2 + (rule.starts_with("gated") ? 1 : 0) + (rule.ends_with("delta") ? 2 : 0);
  return tokens * elements * (update + 2 * q_heads / kv_heads);
}

}  // namespace

void add_attention_ops(OpTable& table) {
  using enum AttributeKind;
  table.add({.name = "Attention",
             .op_class = OpClass::kMatrix,
             .min_inputs = 3,
             .max_inputs = 7,
             .min_outputs = 1,
             .max_outputs = 4,
             .attributes = {{"is_causal", kInt},
                            {"kv_num_heads", kInt},
                            {"q_num_heads", kInt},
                            {"qk_matmul_output_mode", kInt},
                            {"scale", kFloat},
                            {"softcap", kFloat},
                            {"softmax_precision", kInt}},
             .infer = infer_attention,
             .flops = attention_flops,
             .summary = "scaled dot-product attention with mask, past keys and values, and grouped heads"});
  table.add(
      {.name = "hone.AttentionWithSums",
       .op_class = OpClass::kMatrix,
       .min_inputs = 3,
       .max_inputs = 4,
       .min_outputs = 2,
       .max_outputs = 2,
       .attributes = {{"is_causal", kInt}, {"kv_num_heads", kInt}, {"q_num_heads", kInt}, {"scale", kFloat}},
       .infer = infer_attention_with_sums,
       .flops = attention_flops,
       .summary =
           "Attention, and the logarithm of each query's sum of exponentials, which its gradient reads"});
  table.add(
      {.name = "hone.AttentionGradient",
       .op_class = OpClass::kMatrix,
       .min_inputs = 5,
       .max_inputs = 7,
       .min_outputs = 3,
       .max_outputs = 3,
       .attributes = {{"is_causal", kInt}, {"kv_num_heads", kInt}, {"q_num_heads", kInt}, {"scale", kFloat}},
       .infer = infer_attention_gradient,
       .flops = attention_gradient_flops,
       .may_be_absent = uint32_t{1} << 3,
       .summary =
           "the gradients of query, key and value of an Attention, of these, its mask and its output's "
           "gradient, and of its output and sums where those were kept"});
  table.add({.name = "RotaryEmbedding",
             .op_class = OpClass::kOther,
             .min_inputs = 3,
             .max_inputs = 4,
             .attributes = {{"interleaved", kInt}, {"num_heads", kInt}, {"rotary_embedding_dim", kInt}},
             .infer = infer_rotary,
             .flops = infer::per_output<3>,
             .summary = "turns pairs of elements by an angle that grows with the position"});
  table.add({.name = "LinearAttention",
             .op_class = OpClass::kMatrix,
             .min_inputs = 3,
             .max_inputs = 6,
             .min_outputs = 1,
             .max_outputs = 2,
             .attributes = {{"chunk_size", kInt},
                            {"kv_num_heads", kInt, true},
                            {"q_num_heads", kInt, true},
                            {"scale", kFloat},
                            {"update_rule", kString}},
             .infer = infer_linear_attention,
             .flops = linear_attention_flops,
             .summary = "attention as a recurrence over a state of fixed size"});
}

}  // namespace hone::graph
