// Operators that draw random numbers, and Dropout. hone's own take the seed and the place in its stream as
// values, so they are pure: element i is made from number offset + i of the Philox stream of the seed
// (kernels/ref/random.cpp says how), on every provider, in every run. ONNX's have the seed as an attribute,
// or none. They are not pure, because nobody knows what one without a seed would give: two of them are never
// merged, none is folded. Who runs a graph has give_seeds() (random_seeds.h) rewrite them as hone's own.
#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"

namespace hone::graph {
namespace {

Status infer_from_shape(InferContext& context) {
  HONE_ASSIGN(const DType dtype, infer::dtype_attribute(context, "dtype", DType::kF32));
  const Ints shape = context.attributes().ints("shape");
  HONE_CHECK(checked_element_count(shape));
  context.set_output(0, tensor_type(dtype, to_dims(shape)));
  return {};
}

Status infer_like(InferContext& context) {
  TensorType type = context.input(0);
  HONE_ASSIGN(type.dtype, infer::dtype_attribute(context, "dtype", type.dtype));
  context.set_output(0, std::move(type));
  return {};
}

Status infer_bernoulli(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  return infer_like(context);
}

Status infer_multinomial(InferContext& context) {
  HONE_CHECK(infer::expect_rank(context, 0, 2));
  HONE_ASSIGN(const DType dtype, infer::dtype_attribute(context, "dtype", DType::kI32));
  const int64_t samples = context.attributes().integer("sample_size", 1);
  if (samples < 1) return context.error(fmt::format("sample_size is {}, must be positive", samples));
  const TensorType& x = context.input(0);
  context.set_output(0, tensor_type(dtype, Dims{x.has_rank() ? (*x.dims)[0] : Dim(), Dim(samples)}));
  return {};
}

Status infer_dropout(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, is_float, "a floating-point type"));
  TensorType mask = context.input(0);
  mask.dtype = DType::kBool;
  context.set_output(1, std::move(mask));
  return infer::same_as_first(context);
}

Status expect_stream(const InferContext& context, std::size_t first) {
  for (const std::size_t i : {first, first + 1}) {
    const TensorType& type = context.input(i);
    const bool fits = (type.dtype == DType::kI64 || type.dtype == DType::kUndefined) &&
                      (!type.has_rank() || type.rank() == 0);
    if (!fits)
      return context.error(
          fmt::format("the {} is {}, must be i64[]", i == first ? "seed" : "offset", type.text()));
  }
  return {};
}

// In the shape of input 2 or, without one, of the attribute.
Status infer_stream(InferContext& context) {
  HONE_CHECK(expect_stream(context, 0));
  if (context.has_input(2) == context.attributes().has("shape"))
    return context.error("the shape comes either from input 2 or from the attribute");
  if (!context.has_input(2)) return infer_from_shape(context);
  TensorType type = context.input(2);
  HONE_ASSIGN(type.dtype, infer::dtype_attribute(context, "dtype", type.dtype));
  context.set_output(0, std::move(type));
  return {};
}

// ONNX's rule, with the seed and the offset behind ONNX's first input.
template <InferFunction onnx_rule>
Status infer_with_stream(InferContext& context) {
  HONE_CHECK(expect_stream(context, 1));
  return onnx_rule(context);
}

OpEntry random(std::string_view name, int inputs, InferFunction rule, std::vector<AttributeSpec> attributes,
               std::string_view summary) {
  attributes.push_back({"dtype", AttributeKind::kInt});
  attributes.push_back({"seed", AttributeKind::kFloat});
  return {.name = name,
          .op_class = OpClass::kRandom,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .attributes = std::move(attributes),
          .infer = rule,
          .flops = infer::per_output<1>,
          .pure = false,
          .summary = summary};
}

// An operator of hone's own: the seed is a value, and with it the result is known.
OpEntry of_stream(std::string_view name, int inputs, int most_inputs, InferFunction rule,
                  std::vector<AttributeSpec> attributes, std::string_view summary) {
  OpEntry entry = random(name, inputs, rule, std::move(attributes), summary);
  entry.attributes.pop_back();  // the seed
  entry.max_inputs = most_inputs;
  entry.pure = true;
  return entry;
}

void add_stream_ops(OpTable& table) {
  using enum AttributeKind;
  OpEntry uniform = of_stream("hone.RandomUniform", 2, 3, infer_stream,
                              {{"shape", kInts}, {"low", kFloat}, {"high", kFloat}},
                              "uniformly distributed numbers of a seed's stream");
  uniform.bytes = infer::written_bytes;
  table.add(std::move(uniform));
  OpEntry normal = of_stream("hone.RandomNormal", 2, 3, infer_stream,
                             {{"shape", kInts}, {"mean", kFloat}, {"scale", kFloat}},
                             "normally distributed numbers of a seed's stream");
  normal.bytes = infer::written_bytes;
  table.add(std::move(normal));
  table.add(of_stream("hone.Bernoulli", 3, 3, infer_with_stream<infer_bernoulli>, {},
                      "1 with the probability that input 0 gives, else 0, by a seed's stream"));
  table.add(of_stream("hone.Multinomial", 3, 3, infer_with_stream<infer_multinomial>, {{"sample_size", kInt}},
                      "classes drawn from unnormalized log-probabilities by a seed's stream"));
  // x, seed, offset, ratio (absent: 0.5), training (absent: true).
  table.add({.name = "hone.Dropout",
             .op_class = OpClass::kRandom,
             .min_inputs = 3,
             .max_inputs = 5,
             .max_outputs = 2,
             .infer = infer_with_stream<infer_dropout>,
             .flops = infer::per_output<2>,
             .summary = "elements dropped by a seed's stream and the others scaled; its gradient drops the "
                        "same ones by the same numbers, without a mask in memory"});
}

}  // namespace

void add_random_ops(OpTable& table) {
  using enum AttributeKind;
  const AttributeSpec shape{"shape", kInts, true};
  table.add(random("RandomNormal", 0, infer_from_shape, {shape, {"mean", kFloat}, {"scale", kFloat}},
                   "normally distributed numbers"));
  table.add(random("RandomUniform", 0, infer_from_shape, {shape, {"low", kFloat}, {"high", kFloat}},
                   "uniformly distributed numbers"));
  OpEntry normal_like = random("RandomNormalLike", 1, infer_like, {{"mean", kFloat}, {"scale", kFloat}},
                               "normally distributed numbers in the shape of the input");
  normal_like.bytes = infer::written_bytes;
  table.add(std::move(normal_like));
  OpEntry uniform_like = random("RandomUniformLike", 1, infer_like, {{"low", kFloat}, {"high", kFloat}},
                                "uniformly distributed numbers in the shape of the input");
  uniform_like.bytes = infer::written_bytes;
  table.add(std::move(uniform_like));
  table.add(
      random("Bernoulli", 1, infer_bernoulli, {}, "1 with the probability that the input gives, else 0"));
  table.add(random("Multinomial", 1, infer_multinomial, {{"sample_size", kInt}},
                   "classes drawn from unnormalized log-probabilities"));
  table.add({.name = "Dropout",
             .op_class = OpClass::kRandom,
             .min_inputs = 1,
             .max_inputs = 3,
             .max_outputs = 2,
             .attributes = {{"seed", kInt}},
             .infer = infer_dropout,
             .pure = false,
             .summary = "in training, elements dropped at random and the others scaled; else its input"});
  add_stream_ops(table);
}

}  // namespace hone::graph
