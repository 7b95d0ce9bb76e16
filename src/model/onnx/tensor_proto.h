// TensorProto → Tensor: every way in which ONNX stores elements (raw bytes, typed fields, external files,
// packed sub-byte types), each checked against the bytes that are there before memory is taken.
#pragma once

#include <cstdint>
#include <memory>

#include "core/result.h"
#include "core/tensor.h"
#include "model/onnx/external_data.h"
#include "model/onnx/proto.h"

namespace hone::model::onnx {

// Where tensors' bytes come from.
struct TensorSource {
  std::shared_ptr<const void> owner;  // keeps the bytes of the messages alive; null: data is always copied
  ExternalData* external = nullptr;   // null: tensors with external data are an error
};

// The tensor. Its data stays in the file's bytes where these are aligned for the element type; otherwise it
// is copied, because kernels assume natural alignment. Errors name the tensor.
Result<Tensor> make_tensor(const TensorProto& proto, const TensorSource& source);

// The dense form of a COO tensor. An error where it would take more than 256 MiB: nothing in the file bounds
// it.
Result<Tensor> make_dense(const SparseTensorProto& proto, const TensorSource& source);

}  // namespace hone::model::onnx
