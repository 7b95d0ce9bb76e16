#include "graph/emitter.h"

#include <fmt/core.h>

#include "core/onnx_dtype.h"

namespace hone::graph {

NodeEmitter::NodeEmitter(GraphBuilder& builder, std::string prefix, std::vector<std::string> provenance)
    : builder_(builder), prefix_(std::move(prefix)), provenance_(std::move(provenance)) {}

const TensorType& NodeEmitter::type(ValueId value) const {
  static const TensorType kUndefinedType;
  return value.valid() ? builder_.type(value) : kUndefinedType;
}

const Tensor* NodeEmitter::constant_of(ValueId value) const {
  if (!value.valid()) return nullptr;
  const Value& known = builder_.value(value);
  return known.is_constant() ? &*known.constant : nullptr;
}

int64_t NodeEmitter::rank_of(ValueId value) const { return type(value).has_rank() ? type(value).rank() : 0; }

void NodeEmitter::fail(Error error) {
  if (status_.ok()) status_ = std::move(error);
}

std::vector<ValueId> NodeEmitter::add_node(Node node, const std::vector<bool>& outputs) {
  const std::vector<ValueId> none(outputs.size(), kNoValue);
  if (!status_.ok()) return none;
  node.name = fmt::format("{}.{}", prefix_, node.op);
  node.provenance = provenance_;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = i == 0 ? node.name + ".out" : fmt::format("{}.out{}", node.name, i);
    names.push_back(outputs[i] ? name : "");
  }
  auto made = builder_.try_add(std::move(node), names);
  if (made.ok()) return *std::move(made);
  fail(made.error());
  return none;
}

std::vector<ValueId> NodeEmitter::add_many(std::string op, std::vector<ValueId> inputs, std::size_t outputs,
                                           Attributes attributes) {
  Node node;
  node.op = std::move(op);
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  return add_node(std::move(node), std::vector<bool>(outputs, true));
}

std::vector<ValueId> NodeEmitter::add_copy(const Node& node, std::vector<ValueId> inputs) {
  std::vector<bool> outputs;
  for (const ValueId output : node.outputs) outputs.push_back(output.valid());
  Node copy;
  copy.op = node.op;
  copy.attributes = node.attributes;
  copy.inputs = std::move(inputs);
  copy.bodies = node.bodies;
  copy.captures = node.captures;
  return add_node(std::move(copy), outputs);
}

ValueId NodeEmitter::add(std::string op, std::vector<ValueId> inputs, Attributes attributes) {
  return add_many(std::move(op), std::move(inputs), 1, std::move(attributes))[0];
}

ValueId NodeEmitter::cast(ValueId a, DType dtype) {
  return type(a).dtype == dtype ? a : add("Cast", {a}, {{"to", dtype_to_onnx(dtype)}});
}

ValueId NodeEmitter::scalar(double value, ValueId like) {
  if (!status_.ok()) return kNoValue;
  auto tensor = scalar_tensor(type(like).dtype, value);
  if (tensor.ok()) return builder_.constant(prefix_ + ".scalar", *std::move(tensor));
  fail(tensor.error());
  return kNoValue;
}

ValueId NodeEmitter::integer(int64_t value) { return tensor(Tensor::scalar_i64(value)); }

ValueId NodeEmitter::ints(const Ints& values) {
  return builder_.constant(prefix_ + ".ints", Tensor::i64({static_cast<int64_t>(values.size())}, values));
}

ValueId NodeEmitter::tensor(Tensor data) { return builder_.constant(prefix_ + ".constant", std::move(data)); }

ValueId NodeEmitter::shape_of(ValueId value) {
  return type(value).is_static() ? ints(type(value).shape()) : add("Shape", {value});
}

ValueId NodeEmitter::filled_like(ValueId like, double value) {
  const ValueId one = scalar(value, like);
  if (type(like).has_rank() && type(like).rank() == 0) return one;
  const ValueId all = add("Expand", {one, shape_of(like)});
  refine_type(all, like);
  return all;
}

ValueId NodeEmitter::summed(ValueId value, const Ints& axes) {
  return add("ReduceSum", {value, ints(axes)}, {{"keepdims", int64_t{1}}});
}

ValueId NodeEmitter::averaged(ValueId value, const Ints& axes) {
  return add("ReduceMean", {value, ints(axes)}, {{"keepdims", int64_t{1}}});
}

void NodeEmitter::refine_type(ValueId value, const TensorType& known) {
  if (!status_.ok()) return;
  auto merged = merge_types(known, type(value));
  if (!merged.ok()) return fail(merged.error());
  if (builder_.producer(value) != nullptr) builder_.set_type(value, *std::move(merged));
}

Result<Tensor> scalar_tensor(DType dtype, double value) {
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
    case DType::kI64:
      return scalar(static_cast<int64_t>(value));
    case DType::kI32:
      return scalar(static_cast<int32_t>(value));
    default:
      return unsupported(fmt::format("unsupported: gradients of type {}", dtype_name(dtype)));
  }
}

}  // namespace hone::graph
