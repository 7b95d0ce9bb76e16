// AttributeProto → Attribute. Sub-graphs are not attributes in hone (Node::bodies): the graph reader takes
// them.
#pragma once

#include "core/attributes.h"
#include "core/result.h"
#include "model/onnx/proto.h"
#include "model/onnx/tensor_proto.h"

namespace hone::model::onnx {

// Errors name the attribute.
Result<Attribute> make_attribute(const AttributeProto& proto, const TensorSource& source);

// The tensor that a Constant node gives, from the one attribute that it has.
Result<Tensor> make_constant(const AttributeProto& proto, const TensorSource& source);

}  // namespace hone::model::onnx
