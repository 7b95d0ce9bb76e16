// Activation functions: pointwise operators with parameters. FLOPs count each scalar operation, a
// transcendental function as one.
#include "graph/ops/infer_helpers.h"
#include "graph/ops/parts.h"

namespace hone::graph {
namespace {

Status infer_gelu(InferContext& context) {
  const std::string approximate = context.attributes().text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return context.error("attribute approximate is '" + approximate + "', must be none or tanh");
  }
  return infer::same_as_first_float(context);
}

double gelu_flops(const CostContext& context) {
  const bool tanh = context.node.attributes.text("approximate", "none") == "tanh";
  return (tanh ? 9 : 5) * infer::elements(context.out(0));
}

double gelu_slope_flops(const CostContext& context) {
  const bool tanh = context.node.attributes.text("approximate", "none") == "tanh";
  return (tanh ? 14 : 9) * infer::elements(context.out(0));
}

Status infer_prelu(InferContext& context) {
  HONE_CHECK(infer::expect_same_dtype(context, 0, 1));
  const TensorType& x = context.input(0);
  const TensorType& slope = context.input(1);
  if (x.has_rank() && slope.has_rank()) {
    HONE_ASSIGN(Dims dims, broadcast_dims(*x.dims, *slope.dims));
    if (dims.size() != x.dims->size()) {
      return context.error("slope " + slope.text() + " does not broadcast to " + x.text());
    }
  }
  return infer::same_as_first_numeric(context);
}

struct ActivationRow {
  std::string_view name;
  FlopsFunction flops;
  std::vector<AttributeSpec> attributes;
  std::string_view summary;
  InferFunction infer = infer::same_as_first_float;
};

constexpr AttributeSpec kAlpha{"alpha", AttributeKind::kFloat};

}  // namespace

void add_activation_ops(OpTable& table) {
  const std::vector<ActivationRow> rows = {
      {"Celu", infer::per_output<6>, {kAlpha}, "max(0, x) + min(0, alpha · (exp(x / alpha) - 1))"},
      {"Elu", infer::per_output<4>, {kAlpha}, "x above 0, else alpha · (exp(x) - 1)"},
      {"Gelu",
       gelu_flops,
       {{"approximate", AttributeKind::kString}},
       "x · Φ(x), exact or by tanh",
       infer_gelu},
      {"hone.GeluSlope",
       gelu_slope_flops,
       {{"approximate", AttributeKind::kString}},
       "the derivative of Gelu: Φ(x) + x · φ(x), or that of its form by tanh",
       infer_gelu},
      {"HardSigmoid",
       infer::per_output<4>,
       {kAlpha, {"beta", AttributeKind::kFloat}},
       "alpha · x + beta limited to [0, 1]"},
      {"HardSwish", infer::per_output<5>, {}, "x · HardSigmoid(x) with alpha 1/6, beta 1/2"},
      {"LeakyRelu", infer::per_output<2>, {kAlpha}, "x above 0, else alpha · x"},
      {"Mish", infer::per_output<5>, {}, "x · tanh(softplus(x))"},
      {"Relu", infer::per_output<1>, {}, "max(0, x)", infer::same_as_first_numeric},
      {"Selu",
       infer::per_output<5>,
       {kAlpha, {"gamma", AttributeKind::kFloat}},
       "gamma · x above 0, else gamma · alpha · (exp(x) - 1)"},
      {"Shrink",
       infer::per_output<3>,
       {{"lambd", AttributeKind::kFloat}, {"bias", AttributeKind::kFloat}},
       "x moved towards 0 by bias outside [-lambd, lambd], 0 inside",
       infer::same_as_first_numeric},
      {"Sigmoid", infer::per_output<4>, {}, "1 / (1 + exp(-x))"},
      {"Softplus", infer::per_output<3>, {}, "log(1 + exp(x))"},
      {"Softsign", infer::per_output<3>, {}, "x / (1 + |x|)"},
      {"Swish", infer::per_output<6>, {kAlpha}, "x · sigmoid(alpha · x)"},
      {"Tanh", infer::per_output<1>, {}, "hyperbolic tangent"},
      {"ThresholdedRelu", infer::per_output<1>, {kAlpha}, "x above alpha, else 0"},
  };
  for (const ActivationRow& row : rows) {
    table.add({.name = row.name,
               .op_class = OpClass::kPointwise,
               .min_inputs = 1,
               .max_inputs = 1,
               .attributes = row.attributes,
               .infer = row.infer,
               .flops = row.flops,
               .summary = row.summary});
  }
  table.add({.name = "PRelu",
             .op_class = OpClass::kPointwise,
             .min_inputs = 2,
             .max_inputs = 2,
             .infer = infer_prelu,
             .flops = infer::per_output<2>,
             .summary = "x above 0, else slope · x"});
}

}  // namespace hone::graph
