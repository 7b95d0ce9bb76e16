// Recurrent layers: RNN, LSTM, GRU.
#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"

namespace hone::graph {
namespace {

int64_t gates_of(std::string_view op) { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

Result<int64_t> directions_of(const Attributes& attributes) {
  const std::string direction = attributes.text("direction", "forward");
  if (direction == "forward" || direction == "reverse") return 1;
  if (direction == "bidirectional") return 2;
  return invalid(fmt::format("direction '{}' is none of forward, reverse, bidirectional", direction));
}

// The hidden extent: the attribute, or what the recurrent weight [directions, gates · hidden, hidden] says.
Result<Dim> hidden_extent(const InferContext& context) {
  const int64_t named = context.attributes().integer("hidden_size", 0);
  const TensorType& r = context.input(2);
  const Dim of_weight = r.has_rank() ? (*r.dims)[2] : Dim();
  if (named <= 0) return of_weight;
  if (of_weight.known() && of_weight.extent() != named) {
    return context.error(fmt::format("hidden_size is {}, but the recurrent weight is {}", named, r.text()));
  }
  return Dim(named);
}

Status infer_recurrent(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  for (std::size_t i = 0; i < 3; ++i) HONE_CHECK(infer::expect_rank(context, i, 3));
  HONE_ASSIGN(const int64_t directions, directions_of(context.attributes()));
  HONE_ASSIGN(const Dim hidden, hidden_extent(context));
  const TensorType& x = context.input(0);
  const bool batch_first = context.attributes().integer("layout", 0) != 0;
  const Dim time = x.has_rank() ? (*x.dims)[batch_first ? 1 : 0] : Dim();
  const Dim batch = x.has_rank() ? (*x.dims)[batch_first ? 0 : 1] : Dim();
  const Dims all =
      batch_first ? Dims{batch, time, directions, hidden} : Dims{time, directions, batch, hidden};
  const Dims last = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  context.set_output(0, tensor_type(x.dtype, all));
  context.set_output(1, tensor_type(x.dtype, last));
  context.set_output(2, tensor_type(x.dtype, last));
  return {};
}

// The two matrix products of every step: 2 · time · batch · directions · gates · hidden · (input + hidden),
// as cuDNN's and ONNX's equations have it; plus the pointwise part of a cell: per hidden element the biases
// (2 a gate) and activations (1 a gate), and 4 (LSTM: two products, a sum, tanh of the cell and a product
// make 5; with peepholes 6 more), 5 (GRU: reset product, 1 - z, two products and a sum) or none (RNN).
double recurrent_flops(const CostContext& context) {
  const Shape x = context.in(0).shape();
  const Shape r = context.in(2).shape();
  const auto gates = static_cast<double>(gates_of(context.node.op));
  const double steps = static_cast<double>(x[0]) * static_cast<double>(x[1]) * static_cast<double>(r[0]);
  const auto hidden = static_cast<double>(r[2]);
  const auto input = static_cast<double>(x[2]);
  const bool biased = context.inputs.size() > 3 && context.inputs[3] != nullptr;
  const bool peepholes = context.inputs.size() > 7 && context.inputs[7] != nullptr;
  double pointwise = gates * (1 + (biased ? 2 : 0));
  if (context.node.op == "LSTM") pointwise += 5 + (peepholes ? 6 : 0);
  if (context.node.op == "GRU") pointwise += 5;
  return steps * hidden * (2 * gates * (input + hidden) + pointwise);
}

std::vector<AttributeSpec> recurrent_attributes(std::initializer_list<AttributeSpec> more = {}) {
  using enum AttributeKind;
  std::vector<AttributeSpec> attributes{{"activation_alpha", kFloats},
                                        {"activation_beta", kFloats},
                                        {"activations", kStrings},
                                        {"clip", kFloat},
                                        {"direction", kString},
                                        {"hidden_size", kInt},
                                        {"layout", kInt}};
  attributes.insert(attributes.end(), more);
  return attributes;
}

}  // namespace

void add_recurrent_ops(OpTable& table) {
  using enum AttributeKind;
  table.add({.name = "RNN",
             .op_class = OpClass::kMatrix,
             .min_inputs = 3,
             .max_inputs = 6,
             .min_outputs = 1,
             .max_outputs = 2,
             .attributes = recurrent_attributes(),
             .infer = infer_recurrent,
             .flops = recurrent_flops,
             .summary = "a simple recurrent layer"});
  table.add({.name = "LSTM",
             .op_class = OpClass::kMatrix,
             .min_inputs = 3,
             .max_inputs = 8,
             .min_outputs = 1,
             .max_outputs = 3,
             .attributes = recurrent_attributes({{"input_forget", kInt}}),
             .infer = infer_recurrent,
             .flops = recurrent_flops,
             .summary = "a long short-term memory layer"});
  table.add({.name = "GRU",
             .op_class = OpClass::kMatrix,
             .min_inputs = 3,
             .max_inputs = 6,
             .min_outputs = 1,
             .max_outputs = 2,
             .attributes = recurrent_attributes({{"linear_before_reset", kInt}}),
             .infer = infer_recurrent,
             .flops = recurrent_flops,
             .summary = "a gated recurrent unit layer"});
}

}  // namespace hone::graph
