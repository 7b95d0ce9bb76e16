#include "model/onnx/tensor_file.h"

#include "core/file.h"
#include "core/onnx_dtype.h"
#include "model/onnx/tensor_proto.h"
#include "model/onnx/tensor_writer.h"

namespace hone::model {

Result<Tensor> read_tensor_file(const std::filesystem::path& path) {
  HONE_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  auto proto = onnx::decode_tensor(file->text());
  if (!proto.ok()) return proto.error().within(path.string());
  auto tensor = onnx::make_tensor(*proto, {file, nullptr});
  if (!tensor.ok()) return tensor.error().within(path.string());
  return tensor;
}

Status write_tensor_file(const std::filesystem::path& path, const Tensor& tensor, const std::string& name) {
  if (dtype_to_onnx(tensor.dtype()) == 0) return invalid(path.string() + ": the tensor has no type");
  std::string bytes;
  onnx::append_tensor(bytes, tensor, name);
  return write_file(path, bytes);
}

}  // namespace hone::model
