// Tensors alone in files, as ONNX's tests keep their inputs and outputs (input_0.pb: one TensorProto).
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "core/tensor.h"

namespace hone::model {

// Errors start with the file's name. A file that holds a sequence or an optional is not a tensor: callers
// know from the model's types which it is.
Result<Tensor> read_tensor_file(const std::filesystem::path& path);
Status write_tensor_file(const std::filesystem::path& path, const Tensor& tensor,
                         const std::string& name = {});

}  // namespace hone::model
