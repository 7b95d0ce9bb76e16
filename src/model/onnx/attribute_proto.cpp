#include "model/onnx/attribute_proto.h"

#include <fmt/core.h>

namespace hone::model::onnx {
namespace {

Strings to_strings(const std::vector<std::string_view>& views) { return {views.begin(), views.end()}; }

Tensor string_tensor(Shape shape, const Strings& values) {
  Tensor tensor(DType::kString, std::move(shape));
  tensor.strings() = values;
  return tensor;
}

Result<Attribute> make_unnamed(const AttributeProto& proto, const TensorSource& source) {
  switch (proto.type) {
    case AttributeProto::kFloat:
      return Attribute(proto.f);
    case AttributeProto::kInt:
      return Attribute(proto.i);
    case AttributeProto::kString:
      return Attribute(std::string(proto.s));
    case AttributeProto::kFloats:
      return Attribute(proto.floats);
    case AttributeProto::kInts:
      return Attribute(proto.ints);
    case AttributeProto::kStrings:
      return Attribute(to_strings(proto.strings));
    case AttributeProto::kTensor: {
      if (proto.tensors.empty()) return corrupt("is a tensor, but has none");
      HONE_ASSIGN(Tensor tensor, make_tensor(proto.tensors[0], source));
      return Attribute(std::move(tensor));
    }
    case AttributeProto::kSparseTensor: {
      if (proto.sparse_tensors.empty()) return corrupt("is a sparse tensor, but has none");
      HONE_ASSIGN(Tensor tensor, make_dense(proto.sparse_tensors[0], source));
      return Attribute(std::move(tensor));
    }
    case AttributeProto::kUndefined:
      return corrupt("has neither a type nor a value");
    default:
      return unsupported(fmt::format("attributes of kind {} are not supported", proto.type));
  }
}

}  // namespace

Result<Attribute> make_attribute(const AttributeProto& proto, const TensorSource& source) {
  auto attribute = make_unnamed(proto, source);
  if (!attribute.ok()) return attribute.error().within("attribute " + in_quotes(proto.name));
  return attribute;
}

Result<Tensor> make_constant(const AttributeProto& proto, const TensorSource& source) {
  HONE_ASSIGN(const Attribute attribute, make_attribute(proto, source));
  if (const auto* tensor = std::get_if<Tensor>(&attribute)) return *tensor;
  if (const auto* value = std::get_if<float>(&attribute)) return Tensor::scalar_f32(*value);
  if (const auto* value = std::get_if<int64_t>(&attribute)) return Tensor::scalar_i64(*value);
  if (const auto* value = std::get_if<std::string>(&attribute)) return string_tensor({}, {*value});
  if (const auto* values = std::get_if<Floats>(&attribute))
    return Tensor::f32({static_cast<int64_t>(values->size())}, *values);
  if (const auto* values = std::get_if<Ints>(&attribute))
    return Tensor::i64({static_cast<int64_t>(values->size())}, *values);
  const auto& values = std::get<Strings>(attribute);
  return string_tensor({static_cast<int64_t>(values.size())}, values);
}

}  // namespace hone::model::onnx
