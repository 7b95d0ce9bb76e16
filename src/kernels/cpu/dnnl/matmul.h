// Batched matrix product with fused epilogue on oneDNN: dst = epilogue(a x b + bias). Either factor may be
// transposed or otherwise strided; batch axes broadcast; a constant right factor is packed once, at creation.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "core/shape.h"
#include "kernels/cpu/dnnl/post_op.h"

namespace hone::kernels {

namespace onednn {
class Execution;
}

// a: [batch…, M, K], b: [batch…, K, N], the shapes that multiply, whatever the strides say about memory.
struct MatMulDesc {
  DType dtype = DType::kF32;   // of the factors: f32 or bf16, whose sums are f32
  DType result = DType::kF32;  // f32, or the factors'
  Shape a_shape;
  Shape a_strides;  // in elements; empty: row-major
  Shape b_shape;
  Shape b_strides;
  bool constant_b = false;  // b is given to create() and not to execute()
  bool has_bias = false;    // [N] in f32; constant
  std::vector<PostOp> post_ops;
  std::string implementation;  // as MatMul::name() gives it; empty: the library's first

  Result<Shape> dst_shape() const;  // row-major
  double flops() const;
};

// Whether products of bf16 run on the CPU's matrix tiles (AMX), several times as fast as those of f32. Without tiles the
// library's kernels for bf16 are slower than those for f32 (half as fast on a Xeon of the fourth generation).
bool has_tiles_of_bf16();

// As with Convolution: for the creating thread's OpenMP thread count, one execution at a time.
class MatMul {
 public:
  // `b` is read if constant_b, `bias` if has_bias; during the call only.
  static Result<std::unique_ptr<MatMul>> create(const MatMulDesc& desc, const void* b, const void* bias);
  // Names of the library's implementations, its reference loops excluded.
  static std::vector<std::string> candidates(const MatMulDesc& desc);

  ~MatMul();
  MatMul(const MatMul&) = delete;
  MatMul& operator=(const MatMul&) = delete;

  const std::string& name() const;
  std::size_t scratch_bytes() const;
  std::size_t packed_weight_bytes() const;

  // `b` is ignored if constant_b. No factor may overlap dst.
  Status execute(const void* a, const void* b, void* dst, std::span<const void* const> operands,
                 void* scratch) noexcept;

 private:
  MatMul(std::unique_ptr<onednn::Execution> execution, bool constant_b);

  std::unique_ptr<onednn::Execution> execution_;
  bool constant_b_ = false;
};

}  // namespace hone::kernels
