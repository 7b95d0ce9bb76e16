#include "cuda/cudnn_composition.h"

namespace hone::cuda {

using enum CudnnAttribute;

// --- tensors ---

Result<CudnnComposition::Piece> CudnnComposition::memory(int64_t uid, DType dtype, Shape extents,
                                                         std::vector<int64_t> strides) {
  HONE_ASSIGN(const auto tensor, add_tensor(uid, dtype, extents, strides));
  return Piece{tensor, dtype, std::move(extents), std::move(strides)};
}

Result<CudnnComposition::Piece> CudnnComposition::number(int64_t uid) {
  const Shape one = {1, 1, 1, 1};
  HONE_ASSIGN(const auto tensor, add_tensor(uid, DType::kF32, one, one, Kept::kByValue));
  return Piece{tensor, DType::kF32, one, one};
}

Result<CudnnComposition::Piece> CudnnComposition::between(DType dtype, Shape extents,
                                                          std::vector<int64_t> strides) {
  if (strides.empty()) strides = row_major_strides(extents);
  HONE_ASSIGN(const auto tensor, add_tensor(next_uid_++, dtype, extents, strides, Kept::kVirtual));
  return Piece{tensor, dtype, std::move(extents), std::move(strides)};
}

// --- operations ---

Status CudnnComposition::add(CudnnDescriptor kind, CudnnAttribute descriptor_name, CudnnObject descriptor,
                             std::initializer_list<std::pair<CudnnAttribute, const Piece*>> pieces) {
  HONE_CHECK(descriptor.finalise());
  HONE_ASSIGN(CudnnObject operation, new_object(kind));
  HONE_CHECK(operation.set(descriptor_name, descriptor));
  for (const auto& [attribute, piece] : pieces) {
    if (piece != nullptr) HONE_CHECK(give(operation, attribute, piece->tensor));
  }
  keep(std::move(descriptor));
  return add_operation(std::move(operation));
}

Result<CudnnObject> CudnnComposition::function_of(CudnnPointwise mode, CudnnDataType computed_in) const {
  HONE_ASSIGN(CudnnObject function, new_object(CudnnDescriptor::kPointwise));
  HONE_CHECK(function.set(kPointwiseMode, mode));
  HONE_CHECK(function.set(kPointwiseMathPrecision, computed_in));
  return function;
}

Status CudnnComposition::add_function(CudnnObject function, const Piece& x, const Piece* b, const Piece* t,
                                      const Piece& y) {
  return add(CudnnDescriptor::kPointwiseOperation, kPointwiseDescriptor, std::move(function),
             {{kPointwiseX, &x}, {kPointwiseB, b}, {kPointwiseT, t}, {kPointwiseY, &y}});
}

Status CudnnComposition::function(CudnnPointwise mode, const Piece& x, const Piece& b, const Piece& y) {
  HONE_ASSIGN(CudnnObject function,
              function_of(mode, y.dtype == DType::kBool ? CudnnDataType::kBool : CudnnDataType::kF32));
  return add_function(std::move(function), x, &b, nullptr, y);
}

Status CudnnComposition::function(CudnnPointwise mode, const Piece& x, const Piece& y) {
  HONE_ASSIGN(CudnnObject function, function_of(mode, CudnnDataType::kF32));
  return add_function(std::move(function), x, nullptr, nullptr, y);
}

Status CudnnComposition::select(const Piece& x, const Piece& b, const Piece& t, const Piece& y) {
  HONE_ASSIGN(CudnnObject function, function_of(CudnnPointwise::kSelect, CudnnDataType::kF32));
  return add_function(std::move(function), x, &b, &t, y);
}

Status CudnnComposition::index(const Piece& x, int64_t axis, const Piece& y) {
  HONE_ASSIGN(CudnnObject function, function_of(CudnnPointwise::kIndex, CudnnDataType::kF32));
  HONE_CHECK(function.set(kPointwiseAxis, axis));
  return add_function(std::move(function), x, nullptr, nullptr, y);
}

Status CudnnComposition::product(const Piece& a, const Piece& b, const Piece& c) {
  HONE_ASSIGN(CudnnObject product, new_object(CudnnDescriptor::kProduct));
  HONE_CHECK(product.set(kProductComputeType, CudnnDataType::kF32));
  return add(CudnnDescriptor::kProductOperation, kProductDescriptor, std::move(product),
             {{kProductA, &a}, {kProductB, &b}, {kProductC, &c}});
}

Status CudnnComposition::reduce(CudnnReduction what, const Piece& x, const Piece& y) {
  HONE_ASSIGN(CudnnObject reduction, new_object(CudnnDescriptor::kReduction));
  HONE_CHECK(reduction.set(kReductionComputeType, CudnnDataType::kF32));
  HONE_CHECK(reduction.set(kReductionOperator, what));
  return add(CudnnDescriptor::kReductionOperation, kReductionDescriptor, std::move(reduction),
             {{kReductionX, &x}, {kReductionY, &y}});
}

Status CudnnComposition::view(const Piece& x, const Piece& y) {
  HONE_ASSIGN(CudnnObject operation, new_object(CudnnDescriptor::kReshapeOperation));
  HONE_CHECK(give(operation, kReshapeX, x.tensor));
  HONE_CHECK(give(operation, kReshapeY, y.tensor));
  return add_operation(std::move(operation));
}

}  // namespace hone::cuda
