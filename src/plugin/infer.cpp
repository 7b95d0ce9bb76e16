#include "plugin/infer.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "core/onnx_dtype.h"
#include "plugin/node_view.h"

namespace hone::plugin {
namespace {

using graph::CostContext;
using graph::InferContext;
using graph::TensorType;

// A type as the plugin gave it.
Result<TensorType> judged_type(const NodeView& view, const hone_tensor_type& given) {
  const auto dtype = dtype_from_onnx(given.dtype);
  if (given.rank == -1) return invalid("infer() did not set its type");
  if (!dtype || *dtype == DType::kString)
    return invalid(fmt::format("infer() gave it element type {}, which is none of HONE_F32, …", given.dtype));
  if (given.rank < 0 || given.rank > HONE_MAX_RANK)
    return invalid(fmt::format("infer() gave it rank {}; ranks are 0 to {}", given.rank, HONE_MAX_RANK));
  graph::Dims dims;
  for (int32_t axis = 0; axis < given.rank; ++axis) {
    auto dim = view.dim(given.shape[axis]);
    if (!dim.ok())
      return dim.error().within(fmt::format("infer() gave it a shape whose axis {} is wrong", axis));
    dims.push_back(*std::move(dim));
  }
  TensorType type = graph::tensor_type(*dtype, std::move(dims));
  if (!type.is_static()) return type;
  if (auto count = checked_element_count(type.shape()); !count.ok())
    return count.error().within("infer() gave it more than there can be");
  return type;
}

Status check_inputs_of(const InferContext& context) {
  if (!context.node().bodies.empty()) return invalid("has a sub-graph as an attribute; plugins take none");
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const TensorType& type = context.input(i);
    if (!context.has_input(i)) continue;
    if (type.kind != graph::TypeKind::kTensor || type.dtype == DType::kString)
      return invalid(fmt::format("input {} is {}; plugins take tensors of numbers only", i, type.text()));
    if (type.has_rank() && type.rank() > HONE_MAX_RANK)
      return invalid(
          fmt::format("input {} is {}; plugins take ranks up to {}", i, type.text(), HONE_MAX_RANK));
  }
  return {};
}

hone_cost usual_cost(const hone_node& node) {
  hone_cost cost = {};
  const auto bytes = [](const hone_tensor& tensor) {
    const double bits = dtype_bits(*dtype_from_onnx(tensor.dtype));
    return static_cast<double>(hone_count(&tensor)) * bits / 8;
  };
  for (std::size_t i = 0; i < node.input_count; ++i)
    if (node.inputs[i] != nullptr) cost.bytes_read += bytes(*node.inputs[i]);
  for (std::size_t i = 0; i < node.output_count; ++i)
    if (node.outputs[i] != nullptr) cost.bytes_written += bytes(*node.outputs[i]);
  return cost;
}

Result<hone_cost> cost_by_plugin(const NodeView& view) {
  hone_cost cost = usual_cost(view.c());
  const hone_operator& operator_ = *view.custom().interface;
  if (operator_.cost == nullptr) return cost;
  if (Status said = called([&](hone_error* error) { return operator_.cost(&view.c(), &cost, error); });
      !said.ok())
    return said.error().within("cost()");
  for (const auto& [name, value] : {std::pair{"flops", cost.flops}, std::pair{"bytes_read", cost.bytes_read},
                                    std::pair{"bytes_written", cost.bytes_written}})
    if (!std::isfinite(value) || value < 0)
      return invalid(fmt::format("cost() gave {} = {}; costs are finite and 0 or more", name, value));
  return cost;
}

// Where all extents are known: whether the plugin's costs can be used.
Status check_cost(const InferContext& context, const std::vector<TensorType>& outputs) {
  NodeView view(context.node());
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (context.has_input(i) && !context.input(i).is_static()) return {};
    view.add_input(context.has_input(i) ? &context.input(i) : nullptr, context.constant(i));
  }
  for (const TensorType& output : outputs) {
    if (!output.is_static()) return {};
    view.add_output(&output);
  }
  const auto cost = cost_by_plugin(view);
  return cost.ok() ? Status() : cost.error();
}

Status infer_unnamed(InferContext& context) {
  HONE_CHECK(check_inputs_of(context));
  NodeView view(context.node());
  for (std::size_t i = 0; i < context.input_count(); ++i)
    view.add_input(context.has_input(i) ? &context.input(i) : nullptr, context.constant(i));
  for (std::size_t i = 0; i < context.output_count(); ++i) view.add_output(nullptr);
  std::vector<hone_tensor_type> given(context.output_count());
  for (hone_tensor_type& type : given) type.rank = -1;
  const hone_operator& operator_ = *view.custom().interface;
  HONE_CHECK(called([&](hone_error* error) { return operator_.infer(&view.c(), given.data(), error); }));
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto type = judged_type(view, given[i]);
    if (!type.ok()) return type.error().within(fmt::format("output {}", i));
    types.push_back(*std::move(type));
    context.set_output(i, types.back());
  }
  return check_cost(context, types);
}

hone_cost cost_of(const CostContext& context) {
  NodeView view(context.node);
  for (const graph::Value* input : context.inputs)
    view.add_input(input != nullptr ? &input->type : nullptr,
                   input != nullptr && input->is_constant() ? &*input->constant : nullptr);
  for (const graph::Value* output : context.outputs)
    view.add_output(output != nullptr ? &output->type : nullptr);
  const auto cost = cost_by_plugin(view);
  return cost.ok() ? *cost : usual_cost(view.c());  // an error was reported when types were inferred
}

}  // namespace

Status infer_by_plugin(InferContext& context) {
  if (Status status = infer_unnamed(context); !status.ok())
    return status.error().within(plugin_text(*context.node().custom));
  return {};
}

double flops_by_plugin(const CostContext& context) { return cost_of(context).flops; }

void bytes_by_plugin(const CostContext& context, graph::Cost& cost) {
  const hone_cost given = cost_of(context);
  cost.bytes_read = given.bytes_read;
  cost.bytes_written = given.bytes_written;
}

}  // namespace hone::plugin
