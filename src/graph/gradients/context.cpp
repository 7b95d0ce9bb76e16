#include "graph/gradients/context.h"

#include <numeric>

#include <fmt/core.h>

#include "core/onnx_dtype.h"

namespace hone::graph {
namespace {

// Over which axes of `from` a gradient is summed to become one of `to`, which was broadcast to `from`. An
// error where an extent may or may not have been broadcast.
Result<Ints> broadcast_axes(const TensorType& from, const TensorType& to) {
  const Error unknown = unsupported(
      fmt::format("unsupported: whether {} was broadcast to {} is not known; read the model with numbers for "
                  "its symbols",
                  to.text(), from.text()));
  if (!from.has_rank() || !to.has_rank() || from.rank() < to.rank()) return unknown;
  const auto leading = static_cast<std::size_t>(from.rank() - to.rank());
  Ints axes;
  for (std::size_t i = 0; i < from.dims->size(); ++i) {
    const Dim& wide = (*from.dims)[i];
    const bool one = wide.known() && wide.extent() == 1;
    if (i < leading) {
      axes.push_back(static_cast<int64_t>(i));
      continue;
    }
    const Dim& own = (*to.dims)[i - leading];
    if (own.known() && own.extent() == 1 && !one) axes.push_back(static_cast<int64_t>(i));
    if (!own.known() && !one && !own.same_as(wide)) return unknown;
  }
  return axes;
}

}  // namespace

GradientContext::GradientContext(GraphBuilder& builder, Node node, std::vector<ValueId> output_gradients,
                                 std::vector<bool> wanted, std::vector<std::string> provenance)
    : builder_(builder),
      node_(std::move(node)),
      output_gradients_(std::move(output_gradients)),
      wanted_(std::move(wanted)),
      provenance_(std::move(provenance)),
      input_gradients_(node_.inputs.size(), kNoValue) {}

const TensorType& GradientContext::type(ValueId value) const {
  static const TensorType kUndefinedType;
  return value.valid() ? builder_.type(value) : kUndefinedType;
}

const Tensor* GradientContext::constant(std::size_t i) const {
  if (!has_input(i)) return nullptr;
  const Value& value = builder_.value(input(i));
  return value.is_constant() ? &*value.constant : nullptr;
}

std::optional<Ints> GradientContext::constant_ints(std::size_t i) const {
  const Tensor* tensor = constant(i);
  if (tensor == nullptr || !is_integer(tensor->dtype())) return std::nullopt;
  return tensor->to_ints();
}

void GradientContext::fail(Error error) {
  if (status_.ok()) status_ = std::move(error);
}

std::vector<ValueId> GradientContext::add_many(std::string op, std::vector<ValueId> inputs,
                                               std::size_t outputs, Attributes attributes) {
  const std::vector<ValueId> none(outputs, kNoValue);
  if (!status_.ok()) return none;
  Node node;
  node.name = fmt::format("{}.grad.{}", node_.name, op);
  node.op = std::move(op);
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  node.provenance = provenance_;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i)
    names.push_back(i == 0 ? node.name + ".out" : fmt::format("{}.out{}", node.name, i));
  auto made = builder_.try_add(std::move(node), names);
  if (made.ok()) return *std::move(made);
  fail(made.error());
  return none;
}

ValueId GradientContext::add(std::string op, std::vector<ValueId> inputs, Attributes attributes) {
  return add_many(std::move(op), std::move(inputs), 1, std::move(attributes))[0];
}

ValueId GradientContext::cast(ValueId a, DType dtype) {
  return type(a).dtype == dtype ? a : add("Cast", {a}, {{"to", dtype_to_onnx(dtype)}});
}

ValueId GradientContext::scalar(double value, ValueId like) {
  if (!status_.ok()) return kNoValue;
  auto tensor = float_scalar(type(like).dtype, value);
  if (tensor.ok()) return builder_.constant(node_.name + ".grad.scalar", *std::move(tensor));
  fail(tensor.error());
  return kNoValue;
}

ValueId GradientContext::ints(const Ints& values) {
  return builder_.constant(node_.name + ".grad.ints",
                           Tensor::i64({static_cast<int64_t>(values.size())}, values));
}

ValueId GradientContext::shape_of(ValueId value) {
  return type(value).is_static() ? ints(type(value).shape()) : add("Shape", {value});
}

ValueId GradientContext::filled_like(ValueId like, double value) {
  const ValueId one = scalar(value, like);
  if (type(like).has_rank() && type(like).rank() == 0) return one;
  const ValueId all = add("Expand", {one, shape_of(like)});
  refine_type(all, like);
  return all;
}

ValueId GradientContext::summed_to(ValueId gradient, ValueId like) {
  if (!status_.ok()) return kNoValue;
  if (type(gradient).dims.has_value() && type(like).dims == type(gradient).dims && type(like).is_static())
    return gradient;
  auto axes = broadcast_axes(type(gradient), type(like));
  if (!axes.ok()) {
    fail(axes.error());
    return kNoValue;
  }
  if (axes->empty()) return gradient;
  const int64_t leading = type(gradient).rank() - type(like).rank();
  ValueId sum = add("ReduceSum", {gradient, ints(*axes)}, {{"keepdims", int64_t{1}}});
  if (leading == 0) return sum;
  Ints dropped(static_cast<std::size_t>(leading));
  std::iota(dropped.begin(), dropped.end(), 0);
  return add("Squeeze", {sum, ints(dropped)});
}

ValueId GradientContext::reshaped_to(ValueId gradient, ValueId like) {
  // Zero is an extent here, and no request to copy one.
  return add("Reshape", {gradient, shape_of(like)}, {{"allowzero", int64_t{1}}});
}

void GradientContext::set(std::size_t i, ValueId gradient) {
  if (!status_.ok() || !wanted_[i]) return;
  refine_type(gradient, input(i));
  input_gradients_[i] = gradient;
}

void GradientContext::refine_type(ValueId value, ValueId like) {
  if (!status_.ok()) return;
  auto merged = merge_types(type(like), type(value));
  if (!merged.ok()) return fail(merged.error());
  if (builder_.producer(value) != nullptr) builder_.set_type(value, *std::move(merged));
}

Result<Tensor> float_scalar(DType dtype, double value) {
  const auto scalar = [dtype](auto element) {
    return Tensor::of(dtype, {}, std::span<const decltype(element)>(&element, 1));
  };
  switch (dtype) {
    case DType::kF64:
      return scalar(value);
    case DType::kF32:
      return scalar(static_cast<float>(value));
    case DType::kF16:
      return scalar(f32_to_f16(static_cast<float>(value)));
    case DType::kBF16:
      return scalar(f32_to_bf16(static_cast<float>(value)));
    default:
      return unsupported(fmt::format("unsupported: gradients of type {}", dtype_name(dtype)));
  }
}

Status no_gradient(GradientContext&) { return {}; }

void add_gradients(OpTable& table) {
  add_pointwise_gradients(table);
  add_activation_gradients(table);
  add_movement_gradients(table);
  add_reduction_gradients(table);
  add_matrix_gradients(table);
  add_convolution_gradients(table);
  add_normalization_gradients(table);
  add_random_gradients(table);
}

}  // namespace hone::graph
