// 1x1 convolution in f32 on blocked16 tensors as a matrix product: pixels are the rows, read where they lie.
// Any stride, no padding, no groups.
#pragma once

#include <memory>
#include <string_view>

#include "core/result.h"
#include "core/tensor.h"
#include "kernels/cpu/dnnl/convolution_desc.h"
#include "kernels/cpu/gemm/fused_epilogue.h"

namespace hone::kernels {

class PointwiseConvolution {
 public:
  static constexpr std::string_view kName = "blocked16 pixel tiles";

  static Status supports(const ConvolutionDesc& desc);
  // `weights` and `bias` in ONNX's order; read during the call only.
  static Result<std::unique_ptr<PointwiseConvolution>> create(const ConvolutionDesc& desc,
                                                              const void* weights, const void* bias);

  std::size_t packed_weight_bytes() const { return panels_.bytes() + bias_.bytes(); }

  // `residual` (blocked16) only if the epilogue has one. Any number of threads may execute at once. Channel
  // padding of src must hold zeros; that of dst will.
  void execute(const float* src, const float* residual, float* dst) const noexcept;

 private:
  PointwiseConvolution() = default;

  FusedEpilogue epilogue_;
  Tensor panels_, bias_;
  int64_t batch_ = 1, in_channels_ = 0, out_channels_ = 0;
  // Without strides the whole image is one row of pixels.
  int64_t in_columns_ = 0, out_rows_ = 0, out_columns_ = 0;
  int64_t in_pixels_ = 0;
  int64_t row_stride_ = 1, column_stride_ = 1;
};

}  // namespace hone::kernels
