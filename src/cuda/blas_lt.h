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

// What is done to each number of a product before it is stored. NVIDIA's ReLU makes 0 of NaN.
enum class ProductActivation : uint8_t { kNone, kRelu, kGeluTanh };

// What a product gives beside d: the sums of the rows of a, where a is transposed, or of b, where b is not: matrices that are
// stored depth × rows and depth × columns. If d = Xᵀ·dY is a gradient of weights, those of dY are the bias's.
enum class ProductBiasGradient : uint8_t { kNone, kOfA, kOfB };

// d = activation(alpha · op(a) · op(b) + beta · added + row), all row-major: a is rows × depth, or depth × rows where
// transposed; b is depth × columns, or columns × depth; added, where there is one, lies as d does and may be d; row,
// where there is one, is added to each row. `batch` of them, so many elements apart; a stride of 0 is one matrix for
// all, and the row is one for all. f16 and bf16 are multiplied exactly, summed in f32 and rounded once.
struct ProductDesc {
  // Of all operands, but for `f32_result`: f32, f16, bf16. i8 gives i32 and f8 (e4m3) bf16, both only where b alone is transposed, with
  // extents that are whole 16 bytes; whole numbers have an alpha that is one.
  DType dtype = DType::kF32;
  bool tf32 = false;  // f32 rounded to 10 bits before it is multiplied: lossy
  int64_t rows = 0, columns = 0, depth = 0;
  bool transpose_a = false, transpose_b = false;
  int64_t batch = 1, a_stride = 0, b_stride = 0, d_stride = 0;
  float alpha = 1;
  bool row = false, added = false;
  float beta = 1;  // of `added`
  ProductActivation activation = ProductActivation::kNone;
  bool f32_result = false;  // of f16 and bf16: `added`, row and d are f32, and sums are stored as they are
  // Of d's type, which is all that the library has. Of one matrix, with alpha 1 and nothing after the product. Their order
  // of summation is the library's; tf32 may round what they are of.
  ProductBiasGradient bias_gradient = ProductBiasGradient::kNone;
};

// Device addresses of one run.
struct ProductOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* row = nullptr;  // null where the product has none; `added`, too
  const void* added = nullptr;
  void* d = nullptr;
  void* bias_gradient = nullptr;  // null where the product gives none
  void* workspace = nullptr;
};
// What all of them are aligned to, 16 bytes at most: the row and the bias's gradient, too, which the library reads and writes
// by vectors.
uint32_t alignment_of(const ProductOperands& operands);
inline constexpr uint32_t kProductAlignment = 16;  // of tensors in a plan's memory, nearly always

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

  // For operands of such an alignment, the library's best guesses first, at most `most`. None: it does not do this
  // product.
  Result<std::vector<ProductAlgorithm>> algorithms(int most, std::size_t workspace_bytes,
                                                   uint32_t alignment = kProductAlignment) const;

  // The operands are aligned as the algorithm was asked for.
  Status run(const ProductAlgorithm& algorithm, const ProductOperands& operands, StreamHandle stream) const;

 private:
  Product() = default;
  Status build(const ProductDesc& desc);
  Status set_bias(const void* address) const;
  Status add_layout(BlasLayoutHandle* layout, BlasType type, int64_t rows, int64_t columns, int64_t stride);

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
