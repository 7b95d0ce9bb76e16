// Convolution in f32 on blocked16 tensors with any window, as a matrix product: the inputs under the window
// are gathered for some pixels and a slice of the depth at a time, so that what was gathered is still in the
// cache when the product reads it. Two spatial axes, any strides, dilations and padding, no groups.
#pragma once

#include <memory>
#include <string_view>

#include "core/result.h"
#include "core/tensor.h"
#include "kernels/cpu/dnnl/convolution_desc.h"
#include "kernels/cpu/gemm/fused_epilogue.h"
#include "kernels/cpu/gemm/gather.h"

namespace hone::kernels {

class GatheredConvolution {
 public:
  static constexpr std::string_view kName = "blocked16 gathered tiles";

  static Status supports(const ConvolutionDesc& desc);
  // `weights` and `bias` in ONNX's order; read during the call only. For the thread count that holds in the
  // creating thread, or fewer.
  static Result<std::unique_ptr<GatheredConvolution>> create(const ConvolutionDesc& desc, const void* weights,
                                                             const void* bias);

  std::size_t packed_weight_bytes() const { return panels_.bytes() + bias_.bytes(); }
  std::size_t scratch_bytes() const;

  // `residual` (blocked16) only if the epilogue has one; `scratch` of scratch_bytes(), aligned to 64 bytes.
  // Channel padding of src must hold zeros; that of dst will.
  void execute(const float* src, const float* residual, float* dst, void* scratch) const noexcept;

 private:
  struct Range {
    int64_t first = 0;
    int64_t count = 0;
  };
  struct Image {  // one of the batch
    const float* src;
    const float* residual;
    float* dst;
  };

  GatheredConvolution() = default;
  void pack(const ConvolutionDesc& desc, const float* weights);
  void set_schedule();
  int64_t gathered_floats() const;
  void own_chunks(const Image& image, float* scratch) const noexcept;
  void shared_chunks(const Image& image, float* scratch) const noexcept;
  Range units_of(int64_t slice) const;
  void multiply(const Image& image, const float* gathered, Range pixels, int64_t slice,
                Range panels) const noexcept;
  void activate_pixels(const Image& image, Range pixels, Range panels) const noexcept;

  gemm::GatherShape shape_;
  FusedEpilogue epilogue_;
  Tensor panels_, bias_;
  int64_t batch_ = 1, out_blocks_ = 0, panel_count_ = 0;
  int threads_ = 1;
  // The depth in units of 16 channels of one tap.
  int64_t units_ = 0, slice_units_ = 0, slices_ = 0;
  // Many pixels: each thread takes chunks of them, a slice after the other. Few: all threads share what is
  // gathered of all slices, and each has panels of the weights to itself, so that every weight is read once.
  bool share_ = false;
  int64_t chunk_pixels_ = 0;
};

}  // namespace hone::kernels
