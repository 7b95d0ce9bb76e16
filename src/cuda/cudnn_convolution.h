// Convolutions by cuDNN's graph API, as data.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cuda/cudnn_graph.h"

namespace hone::cuda {

// What is done to each number before it is stored.
struct ConvolutionActivation {
  std::optional<CudnnPointwise> mode;  // nullopt: nothing
  // Of ReLU: what lies below `low` becomes low + slope · (x - low), what lies above `high` becomes high.
  double low = 0, high = 0, slope = 0;
  bool has_high = false;
  double alpha = 1;  // Elu's, Swish's and Softplus's number
  friend bool operator==(const ConvolutionActivation&, const ConvolutionActivation&) = default;
};

// y = activation(x * w + added + bias): the order in which the library's compiled engines have them. Shapes are N, C,
// spatial…, and of w K, C / groups, spatial…; one to three spatial axes. All lie row-major in that order or, with
// `channels_last`, as N, spatial…, C and K, spatial…, C / groups. Numbers of f16 and bf16 are multiplied exactly, summed in
// f32, and rounded once, behind the activation.
struct ConvolutionDesc {
  DType dtype = DType::kF32;  // of all operands: f32, f16, bf16
  bool tf32 = false;          // f32 rounded to 10 bits before it is multiplied: lossy
  // The transposed convolution, that by which y's gradient is x's: x has w's first extent as channels.
  bool transposed = false;
  // The gradient of w, of x and the gradient of y; nothing follows it.
  bool weight_gradient = false;
  bool channels_last = false;
  Shape x, w, y;
  Shape strides, dilations, pads_begin,
      pads_end;  // a number a spatial axis; of a transposed one those of what it transposes
  bool added = false, bias = false;  // one that lies as y does; a number for each of y's channels
  ConvolutionActivation activation = {};
  friend bool operator==(const ConvolutionDesc&, const ConvolutionDesc&) = default;
};

// Device addresses of one run, aligned to kCudnnAlignment. What is written is y or, of a weight gradient, w.
struct ConvolutionOperands {
  const void* x = nullptr;
  const void* w = nullptr;
  const void* added = nullptr;  // null where the convolution has none; `bias`, too
  const void* bias = nullptr;
  const void* y = nullptr;
};

class Convolution : public CudnnGraph {
 public:
  // An error where the library does not take such a graph at all.
  static Result<std::shared_ptr<const Convolution>> make(std::shared_ptr<const Cudnn> library,
                                                         const ConvolutionDesc& desc);

  const ConvolutionDesc& desc() const { return desc_; }
  std::vector<CudnnOperand> operands(const ConvolutionOperands& addresses) const;  // those that it has

 private:
  Convolution(std::shared_ptr<const Cudnn> library, const ConvolutionDesc& desc)
      : CudnnGraph(std::move(library), desc.dtype != DType::kF32 || desc.tf32), desc_(desc) {}
  Status build();
  Result<CudnnDescriptorHandle> add_image(int64_t uid, DType dtype, const Shape& shape, Kept kept);
  Status add_convolution(CudnnDescriptorHandle y);
  Status add_pointwise(const ConvolutionActivation& what, CudnnDescriptorHandle x, CudnnDescriptorHandle b,
                       CudnnDescriptorHandle y);

  ConvolutionDesc desc_;
  CudnnDescriptorHandle x_ = nullptr, w_ = nullptr;
};

}  // namespace hone::cuda
