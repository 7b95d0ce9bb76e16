// C = epilogue(A B + bias) in f32 with a constant B, packed once: for any number of rows; with few, B is
// streamed once at the speed of memory.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/result.h"
#include "core/tensor.h"
#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/gemm/fused_epilogue.h"

namespace hone::kernels {

class PackedMatMul {
 public:
  static constexpr std::string_view kName = "packed panels";

  // Ok if create() would take the description: f32, two-dimensional factors, A's rows contiguous.
  static Status supports(const MatMulDesc& desc);
  // `b` and `bias` are read during the call only.
  static Result<std::unique_ptr<PackedMatMul>> create(const MatMulDesc& desc, const void* b,
                                                      const void* bias);

  std::size_t packed_weight_bytes() const { return panels_.bytes() + bias_.bytes(); }

  // `residual` only if the epilogue has one. Any number of threads may execute at once; dst overlaps nothing.
  void execute(const float* a, const float* residual, float* dst) const noexcept;

 private:
  PackedMatMul() = default;

  FusedEpilogue epilogue_;
  Tensor panels_, bias_;
  int64_t rows_ = 0, depth_ = 0, columns_ = 0;
  int64_t a_row_ = 0;
};

}  // namespace hone::kernels
