// Operators that draw random numbers, and Dropout. Those that draw are not pure: two of them are never
// merged, none is folded. Where `seed` is given the numbers are the same in every run and on every provider
// (kernels/ref/random.cpp says how they are made).
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
}

}  // namespace hone::graph
