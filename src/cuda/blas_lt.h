// cuBLASLt: matrix products. One object serves a context and all its streams; kernels of several threads may be given
// products at once, each with a workspace of its own.
#pragma once

#include <memory>
#include <vector>

#include "cuda/blas_lt_abi.h"
#include "cuda/context.h"
#include "cuda/library.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::cuda {

// d = alpha · op(a) · op(b) + row, all row-major: a is rows × depth, or depth × rows where transposed; b is depth ×
// columns, or columns × depth; row, where there is one, is added to each row. `batch` of them, so many elements apart;
// a stride of 0 is one matrix for all. f16 and bf16 are multiplied exactly and summed in f32.
struct ProductDesc {
  DType dtype = DType::kF32;  // of all operands: f32, f16, bf16
  int64_t rows = 0, columns = 0, depth = 0;
  bool transpose_a = false, transpose_b = false;
  int64_t batch = 1, a_stride = 0, b_stride = 0, d_stride = 0;
  float alpha = 1;
  bool row = false;
};

struct ProductAlgorithm {
  BlasAlgorithm algorithm{};
  std::size_t workspace_bytes = 0;
};

class BlasLt;

// One product with one algorithm, ready to be given to streams. Not thread-safe.
class Product {
 public:
  static Result<std::unique_ptr<Product>> make(std::shared_ptr<const BlasLt> library,
                                               const ProductDesc& desc);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  // The library's best guesses first, at most `most`. None: it does not do this product.
  Result<std::vector<ProductAlgorithm>> algorithms(int most, std::size_t workspace_bytes) const;

  // Addresses are the device's, aligned to 16 bytes; `row` null where the product has none.
  Status run(const ProductAlgorithm& algorithm, const void* a, const void* b, const void* row, void* d,
             void* workspace, StreamHandle stream) const;

 private:
  Product() = default;
  Status build(const ProductDesc& desc);
  Status add_layout(BlasLayoutHandle* layout, int64_t rows, int64_t columns, int64_t stride);

  std::shared_ptr<const BlasLt> library_;
  ProductDesc desc_;
  BlasDescHandle operation_ = nullptr;
  BlasLayoutHandle left_ = nullptr, right_ = nullptr, result_ = nullptr;
};

class BlasLt {
 public:
  static Result<std::shared_ptr<const BlasLt>> load(ContextPointer context, const LibraryPlaces& places);
  ~BlasLt();
  BlasLt(const BlasLt&) = delete;
  BlasLt& operator=(const BlasLt&) = delete;

  int version() const { return version_; }  // 130000 and so on, as the library counts
  const BlasLtFunctions& functions() const { return functions_; }
  BlasHandle handle() const { return handle_; }
  const Context& context() const { return *context_; }
  Status check(BlasCode code, std::string_view call) const;

 private:
  explicit BlasLt(ContextPointer context) : context_(std::move(context)) {}

  ContextPointer context_;
  BlasLtFunctions functions_;
  std::string path_;
  BlasHandle handle_ = nullptr;
  int version_ = 0;
};

}  // namespace hone::cuda
