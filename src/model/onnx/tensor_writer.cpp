#include "model/onnx/tensor_writer.h"

#include <protozero/pbf_writer.hpp>

#include "core/onnx_dtype.h"
#include "model/onnx/tensor_proto.h"

namespace hone::model::onnx {

std::size_t packed_size(const Tensor& tensor) {
  return (static_cast<std::size_t>(tensor.size()) * static_cast<std::size_t>(dtype_bits(tensor.dtype())) +
          7) /
         8;
}

std::string packed_elements(const Tensor& tensor) {
  const int bits = dtype_bits(tensor.dtype());
  if (bits >= 8 || bits == 0) return {};
  std::string packed(packed_size(tensor), '\0');
  const auto* elements = static_cast<const uint8_t*>(tensor.data());
  const int per_byte = 8 / bits;
  const auto mask = static_cast<uint8_t>((1 << bits) - 1);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    char& byte = packed[static_cast<std::size_t>(i / per_byte)];
    byte = static_cast<char>(static_cast<uint8_t>(byte) | (elements[i] & mask) << (bits * (i % per_byte)));
  }
  return packed;
}

void append_tensor(std::string& bytes, const Tensor& tensor, std::string_view name) {
  protozero::pbf_writer writer(bytes);
  writer.add_packed_int64(1, tensor.shape().begin(), tensor.shape().end());
  writer.add_int32(2, static_cast<int32_t>(dtype_to_onnx(tensor.dtype())));
  if (!name.empty()) writer.add_string(8, name.data(), name.size());
  if (tensor.dtype() == DType::kString) {
    for (const std::string& text : tensor.strings()) writer.add_bytes(6, text);
    return;
  }
  const std::string packed = packed_elements(tensor);
  if (packed.empty())
    writer.add_bytes(9, static_cast<const char*>(tensor.data()), tensor.bytes());
  else
    writer.add_bytes(9, packed);
}

}  // namespace hone::model::onnx
