// hone's own depthwise convolution (one input channel an output channel), for blocked16 and channels_last. It
// exists because it is bound by memory, and oneDNN's kernels reach a third of the bandwidth on large images
// (docs/decisions: the version of oneDNN). Users go through Convolution, whose candidates() offer it.
#pragma once

#include <memory>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "kernels/cpu/dnnl/convolution_desc.h"

namespace hone::kernels {

// Geometry, packed weights and epilogue of one layer, as the vector kernels read them.
struct DepthwiseLayer {
  int64_t batch = 1, channels = 0;
  int64_t in_rows = 1, in_columns = 0, out_rows = 1, out_columns = 0;
  int64_t kernel_rows = 1, kernel_columns = 1;
  int64_t row_stride = 1, column_stride = 1;
  int64_t row_dilation = 1, column_dilation = 1;
  int64_t top = 0, left = 0;       // padding
  bool blocked = true;             // blocked16, else channels_last
  const float* weights = nullptr;  // [channels / 16][tap][16], padded with zeros
  const float* bias = nullptr;     // [channels / 16][16]
  std::vector<PostOp> post_ops;    // activations only
};

class DepthwiseConvolution {
 public:
  static constexpr const char* kName = "hone_depthwise";

  // An error says what is not supported.
  static Status supports(const ConvolutionDesc& desc);
  static Result<std::unique_ptr<DepthwiseConvolution>> create(const ConvolutionDesc& desc,
                                                              const void* weights, const void* bias);

  std::size_t packed_weight_bytes() const { return weights_.bytes() + bias_.bytes(); }

  // Allocates nothing, needs no scratch, may run concurrently with itself.
  void execute(const float* src, float* dst) const noexcept;

 private:
  DepthwiseConvolution() = default;

  Tensor weights_, bias_;
  DepthwiseLayer layer_;
};

}  // namespace hone::kernels
