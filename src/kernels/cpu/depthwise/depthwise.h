// Depthwise convolution in f32 on blocked16 tensors, by an own kernel: strips of output pixels in registers.
// Square 3x3 and 5x5 windows with stride 1 or 2 along both axes, any padding, no dilation.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/result.h"
#include "core/tensor.h"
#include "kernels/cpu/dnnl/convolution_desc.h"
#include "kernels/cpu/gemm/fused_epilogue.h"

namespace hone::kernels {

inline constexpr int64_t kBlockedChannels = 16;

// Extents and packed parameters as the kernel reads them.
struct DepthwiseLayer {
  int64_t planes = 0;  // batch x channel blocks
  int64_t blocks = 0;  // channel blocks
  int64_t in_rows = 0, in_columns = 0, out_rows = 0, out_columns = 0;
  int64_t kernel = 3, stride = 1;
  int64_t top = 0, left = 0;
  const float* weights = nullptr;  // [blocks][taps][16]
  const float* bias = nullptr;     // [blocks * 16]
  float low = 0, high = 0;
};

class DepthwiseConvolution {
 public:
  static constexpr std::string_view kName = "blocked16 depthwise strips";

  static Status supports(const ConvolutionDesc& desc);
  // `weights` and `bias` in ONNX's order; read during the call only.
  static Result<std::unique_ptr<DepthwiseConvolution>> create(const ConvolutionDesc& desc,
                                                              const void* weights, const void* bias);

  std::size_t packed_weight_bytes() const { return weights_.bytes() + bias_.bytes(); }

  // `residual` (blocked16) only if the epilogue has one. Any number of threads may execute at once. Channel
  // padding of src must hold zeros; that of dst will.
  void execute(const float* src, const float* residual, float* dst) const noexcept;

 private:
  DepthwiseConvolution() = default;

  DepthwiseLayer layer_;
  FusedEpilogue epilogue_;
  Tensor weights_, bias_;
};

}  // namespace hone::kernels
