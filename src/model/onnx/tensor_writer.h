// Tensor → TensorProto, as bytes of protobuf. Internal to the ONNX writer and to tensor files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/tensor.h"

namespace hone::model::onnx {

// Bytes of the tensor's elements as files pack them; strings: 0.
std::size_t packed_size(const Tensor& tensor);

// The elements as files pack them where that differs from memory (4- and 2-bit types); otherwise empty.
std::string packed_elements(const Tensor& tensor);

// Appends the whole message, data included. The tensor's dtype has an ONNX number.
void append_tensor(std::string& bytes, const Tensor& tensor, std::string_view name);

}  // namespace hone::model::onnx
