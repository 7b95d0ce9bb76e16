// Transposed convolution in f32 on blocked16 tensors whose windows do not overlap (strides as long as the
// kernel, no padding), as decoders use it to enlarge images: one matrix product a tap, whose rows are written
// stride pixels apart.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "kernels/cpu/dnnl/convolution_desc.h"
#include "kernels/cpu/gemm/fused_epilogue.h"

namespace hone::kernels {

class TransposedConvolution {
 public:
  static constexpr std::string_view kName = "blocked16 separate windows";

  static Status supports(const ConvolutionDesc& desc);
  // `weights` and `bias` in ONNX's order; read during the call only.
  static Result<std::unique_ptr<TransposedConvolution>> create(const ConvolutionDesc& desc,
                                                               const void* weights, const void* bias);

  std::size_t packed_weight_bytes() const;

  // `residual` (blocked16) only if the epilogue has one. Any number of threads may execute at once. Channel
  // padding of src must hold zeros; that of dst will.
  void execute(const float* src, const float* residual, float* dst) const noexcept;

 private:
  TransposedConvolution() = default;

  FusedEpilogue epilogue_;
  std::vector<Tensor> panels_;  // one a tap
  Tensor bias_;
  int64_t batch_ = 1, in_channels_ = 0, out_channels_ = 0;
  int64_t in_rows_ = 0, in_columns_ = 0;
  int64_t row_stride_ = 1, column_stride_ = 1;
};

}  // namespace hone::kernels
