// Optimizers, and the norm of what they update by: one node updates many tensors, so that a provider can do it in one launch. They are pure like
// every operator: parameters and moments go in, their next values come out, and Graph::states() pairs the
// two, which lets a plan update them in place.
//
// Inputs are a few scalars, then k parameters, k gradients and k of each moment, in groups; outputs are the k
// next parameters and k next of each moment. An absent `scale` is 1; it multiplies all gradients (clipping by
// the global norm, undoing the loss's scale) without another trip through memory. Where it is NaN nothing is updated: the
// results are the parameters and moments as they were (a step whose scaled gradients overflowed).
//
// With `numbers`, one for each parameter, parameters are bf16, and what is computed of them is rounded stochastically
// (core/stochastic_rounding.h): by `seed`, the parameter's number, and how many updates were made before.
#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"

namespace hone::graph {
namespace {

// How the inputs of a node divide.
struct OptimizerForm {
  std::size_t scalars = 0;
  std::size_t moments = 0;
  std::size_t tensors = 0;  // k

  std::size_t parameter(std::size_t i) const { return scalars + i; }
  std::size_t gradient(std::size_t i) const { return scalars + tensors + i; }
  std::size_t moment(std::size_t which, std::size_t i) const { return scalars + (2 + which) * tensors + i; }
};

bool rounds(const Attributes& attributes) { return !attributes.ints("numbers").empty(); }

Result<OptimizerForm> optimizer_form(const InferContext& context, std::size_t scalars, std::size_t moments) {
  OptimizerForm form{scalars, moments, 0};
  const std::size_t groups = 2 + moments;
  if (context.input_count() <= scalars || (context.input_count() - scalars) % groups != 0)
    return context.error(
        fmt::format("after its {} scalars it takes as many parameters as gradients{}, "
                    "but there are {} tensors",
                    scalars, moments == 0 ? "" : " and as each of its moments",
                    context.input_count() - std::min(scalars, context.input_count())));
  form.tensors = (context.input_count() - scalars) / groups;
  if (context.output_count() != form.tensors * (1 + moments))
    return context.error(fmt::format("it has {} outputs for {} parameters, must be {}",
                                     context.output_count(), form.tensors, form.tensors * (1 + moments)));
  return form;
}

Status expect_optimizer_scalar(const InferContext& context, std::size_t input, std::string_view what,
                               bool (*allowed)(DType)) {
  const TensorType& type = context.input(input);
  if (type.dtype != DType::kUndefined && !allowed(type.dtype))
    return context.error(fmt::format("the {} is {}, must be {}", what, dtype_name(type.dtype),
                                     allowed == is_integer ? "an integer" : "a floating-point number"));
  if (type.has_rank() && type.rank() != 0)
    return context.error(fmt::format("the {} is {}, must be a scalar", what, type.text()));
  return {};
}

// Gradients and moments have their parameter's shape; each may have an element type of its own.
Status expect_like_parameter(const InferContext& context, std::size_t parameter, std::size_t input,
                             std::string_view what) {
  HONE_CHECK(infer::expect_dtype(context, input, infer::is_general_float, "a floating-point type"));
  TensorType wanted = context.input(parameter);
  wanted.dtype = context.input(input).dtype;
  auto merged = merge_types(wanted, context.input(input));
  if (merged.ok()) return {};
  return merged.error().within(fmt::format("the {} in input {}", what, input));
}

// Numbers of parameters make them bf16, which nothing computes in another type: rounding is the operator's.
Status expect_rounded(const InferContext& context, const OptimizerForm& form) {
  if (!rounds(context.attributes())) return {};
  const Ints numbers = context.attributes().ints("numbers");
  if (numbers.size() != form.tensors)
    return context.error(fmt::format("it has {} numbers for {} parameters", numbers.size(), form.tensors));
  constexpr int64_t kMostParameters = int64_t{1} << 23;
  for (std::size_t i = 0; i < form.tensors; ++i) {
    const DType dtype = context.input(form.parameter(i)).dtype;
    if (dtype != DType::kBF16 && dtype != DType::kUndefined)
      return context.error(
          fmt::format("a parameter that is rounded stochastically is {}, must be bf16", dtype_name(dtype)));
    if (numbers[i] < 0 || numbers[i] >= kMostParameters)
      return context.error(
          fmt::format("{} is no number of a parameter, 0 to {}", numbers[i], kMostParameters - 1));
  }
  return {};
}

Status infer_updates(InferContext& context, const OptimizerForm& form) {
  HONE_CHECK(expect_rounded(context, form));
  for (std::size_t i = 0; i < form.tensors; ++i) {
    const std::size_t parameter = form.parameter(i);
    HONE_CHECK(infer::expect_dtype(context, parameter, infer::is_general_float, "a floating-point type"));
    HONE_CHECK(expect_like_parameter(context, parameter, form.gradient(i), "gradient"));
    context.set_output(i, context.input(parameter));
    for (std::size_t m = 0; m < form.moments; ++m) {
      HONE_CHECK(expect_like_parameter(context, parameter, form.moment(m, i), "moment"));
      context.set_output((m + 1) * form.tensors + i, context.input(form.moment(m, i)));
    }
  }
  return {};
}

Status expect_between(const InferContext& context, std::string_view attribute, float otherwise, float low,
                      float high) {
  const float value = context.attributes().real(attribute, otherwise);
  if (value >= low && value <= high) return {};
  return context.error(fmt::format("{} is {}, must be in [{}, {}]", attribute, value, low, high));
}

constexpr float kAnyFloat = 3.4e38F;

Status infer_sgd(InferContext& context) {
  HONE_CHECK(expect_between(context, "momentum", 0, 0, 1));
  HONE_CHECK(expect_between(context, "weight_decay", 0, 0, kAnyFloat));
  const bool momentum = context.attributes().real("momentum", 0) != 0;
  if (!momentum && context.attributes().integer("nesterov", 0) != 0)
    return context.error("nesterov needs a momentum");
  const bool counts = rounds(context.attributes());
  HONE_ASSIGN(const OptimizerForm form, optimizer_form(context, counts ? 3 : 2, momentum ? 1 : 0));
  if (counts) HONE_CHECK(expect_optimizer_scalar(context, 2, "number of updates", is_integer));
  HONE_CHECK(expect_optimizer_scalar(context, 0, "learning rate", infer::is_general_float));
  HONE_CHECK(expect_optimizer_scalar(context, 1, "scale", infer::is_general_float));
  return infer_updates(context, form);
}

// How much a moment keeps of what it was. One that kept all would never move, and 1 - beta^t, by which it is
// divided, would be 0.
Status expect_beta(const InferContext& context, std::string_view attribute, float otherwise) {
  const float value = context.attributes().real(attribute, otherwise);
  if (value >= 0 && value < 1) return {};
  return context.error(fmt::format("{} is {}, must be in [0, 1)", attribute, value));
}

Status infer_adamw(InferContext& context) {
  HONE_CHECK(expect_beta(context, "beta1", 0.9F));
  HONE_CHECK(expect_beta(context, "beta2", 0.999F));
  HONE_CHECK(expect_between(context, "epsilon", 1e-8F, 0, kAnyFloat));
  HONE_CHECK(expect_between(context, "weight_decay", 0.01F, 0, kAnyFloat));
  HONE_ASSIGN(const OptimizerForm form, optimizer_form(context, 3, 2));
  HONE_CHECK(expect_optimizer_scalar(context, 0, "learning rate", infer::is_general_float));
  HONE_CHECK(expect_optimizer_scalar(context, 1, "number of updates", is_integer));
  HONE_CHECK(expect_optimizer_scalar(context, 2, "scale", infer::is_general_float));
  return infer_updates(context, form);
}

double parameters_of(const CostContext& context, std::size_t moments) {
  double elements = 0;
  for (std::size_t i = 0; i < context.outputs.size() / (1 + moments); ++i)
    if (context.outputs[i] != nullptr) elements += infer::elements(context.out(i));
  return elements;
}

// x - rate·g, and two each for momentum, Nesterov's look ahead, decay and scale.
double sgd_flops(const CostContext& context) {
  const Attributes& attributes = context.node.attributes;
  const bool momentum = attributes.real("momentum", 0) != 0;
  double each = 2;
  if (momentum) each += attributes.integer("nesterov", 0) != 0 ? 4 : 2;
  if (attributes.real("weight_decay", 0) != 0) each += 2;
  if (context.inputs[1] != nullptr) each += 1;
  return each * parameters_of(context, momentum ? 1 : 0);
}

// Three for the first moment, four for the second, four for its root and the quotient, three for the update.
double adamw_flops(const CostContext& context) {
  return (context.inputs[2] != nullptr ? 15.0 : 14.0) * parameters_of(context, 2);
}

// The last of the scalars is the scale, which may be absent.
OpEntry optimizer(std::string_view name, int scalars, int moments, InferFunction rule, FlopsFunction flops,
                  std::vector<AttributeSpec> attributes, std::string_view summary) {
  return {.name = name,
          .op_class = OpClass::kOptimizer,
          .min_inputs = scalars + 2 + moments,
          .max_inputs = -1,
          .min_outputs = 1 + moments,
          .max_outputs = -1,
          .attributes = std::move(attributes),
          .infer = rule,
          .flops = flops,
          .may_be_absent = uint32_t{1} << (scalars - 1),
          .summary = summary};
}

Status infer_square_sum(InferContext& context) {
  DType result = DType::kF32;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    HONE_CHECK(infer::expect_dtype(context, i, infer::is_general_float, "a floating-point type"));
    if (context.input(i).dtype == DType::kF64) result = DType::kF64;
  }
  context.set_output(0, tensor_type(result, Dims{}));
  return {};
}

double square_sum_flops(const CostContext& context) {
  double elements = 0;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) elements += infer::elements(context.in(i));
  return 2 * elements;
}

}  // namespace

void add_optimizer_ops(OpTable& table) {
  using enum AttributeKind;
  // Inputs: rate, scale (may be absent), with numbers the updates made before, x…, g…, and with momentum v…. For each element, with g = scale·g +
  // weight_decay·x:  v' = momentum·v + g;  x' = x - rate·v', or with nesterov x - rate·(g + momentum·v').
  // Without momentum x' = x - rate·g. As torch.optim.SGD with dampening 0 does from v = 0.
  table.add(optimizer("hone.Sgd", 2, 0, infer_sgd, sgd_flops,
                      {{"momentum", kFloat},
                       {"nesterov", kInt},
                       {"weight_decay", kFloat},
                       {"seed", kInt},
                       {"numbers", kInts}},
                      "one step of stochastic gradient descent over many tensors"));
  // Inputs: rate, updates made before (0 or more), scale (may be absent), x…, g…, m…, v…. With t = updates + 1
  // and g = scale·g:  m' = beta1·m + (1 - beta1)·g;  v' = beta2·v + (1 - beta2)·g²;
  // x' = x·(1 - rate·weight_decay) - rate·(m' / (1 - beta1^t)) / (√(v' / (1 - beta2^t)) + epsilon).
  // Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (ICLR 2019); Adam for weight_decay = 0.
  table.add(optimizer("hone.AdamW", 3, 2, infer_adamw, adamw_flops,
                      {{"beta1", kFloat},
                       {"beta2", kFloat},
                       {"epsilon", kFloat},
                       {"weight_decay", kFloat},
                       {"seed", kInt},
                       {"numbers", kInts}},
                      "one step of Adam with decoupled weight decay over many tensors"));
  // Of all elements of all inputs, of any float types: the square of the norm of many gradients, in f32, or f64 where one is.
  table.add({.name = "hone.SquareSum",
             .op_class = OpClass::kReduction,
             .min_inputs = 1,
             .max_inputs = -1,
             .infer = infer_square_sum,
             .flops = square_sum_flops,
             .summary = "the sum of squares over many tensors"});
}

}  // namespace hone::graph
