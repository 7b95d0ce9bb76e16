// Convolution and transposed convolution with fused epilogue, 1 to 3 spatial axes, any grouping, on oneDNN.
// Weights are packed once, at creation. Shapes and layouts in, a kernel object out; nothing here knows a
// graph.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/layout.h"
#include "core/result.h"
#include "core/shape.h"
#include "kernels/cpu/dnnl/post_op.h"

namespace hone::kernels {

namespace onednn {
class Execution;
}

enum class ConvolutionAlgorithm : uint8_t {
  kAuto,      // the library's own choice
  kDirect,    //
  kWinograd,  // F(4x4,3x3) in f32: fewer multiplications, relative L2 error near 1e-6 instead of 1e-7
  kMatMul,    // a 1x1 convolution of stride 1 without padding as one matrix product; channels_last only
};

std::string_view algorithm_name(ConvolutionAlgorithm algorithm);

// Empty strides, dilations and pads mean 1, 1 and 0. All spatial vectors have the same length, 1 to 3.
struct ConvolutionDesc {
  DType dtype = DType::kF32;
  int64_t batch = 1;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t groups = 1;
  Shape input;  // spatial extents
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads_begin;
  Shape pads_end;
  bool transposed = false;  // ONNX ConvTranspose
  Shape output_padding;     // of a transposed one; empty means 0
  bool has_bias = false;
  std::vector<PostOp> post_ops;
  // The variant; see candidates().
  Layout src_layout = Layout::kPlain;
  Layout dst_layout = Layout::kPlain;
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kAuto;
  std::string implementation;  // as Convolution::name() gives it; empty: the library's first

  Shape output() const;         // spatial extents
  Shape src_shape() const;      // N, C, spatial…
  Shape dst_shape() const;      // N, M, spatial…
  Shape weights_shape() const;  // as in ONNX: M, C/groups, k… (transposed: C, M/groups, k…)
  double flops() const;         // multiplications and additions of the definition, epilogue excluded
};

// A way to compute the same convolution, worth timing.
struct ConvolutionVariant {
  Layout src_layout = Layout::kPlain;
  Layout dst_layout = Layout::kPlain;
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::kAuto;
  std::string implementation;

  void apply_to(ConvolutionDesc& desc) const;
  std::string name() const;  // "blocked16 winograd jit_wino_4x3:avx512_core"
};

// Created for the OpenMP thread count that holds in the creating thread; run it under the same. One object
// runs one execution at a time; different objects run concurrently.
class Convolution {
 public:
  // `weights` and `bias` in ONNX's order, row-major; read during the call only.
  static Result<std::unique_ptr<Convolution>> create(const ConvolutionDesc& desc, const void* weights,
                                                     const void* bias);
  // Every variant that the library has a real implementation of (its scalar reference loops excluded), in no
  // particular order. Cheap: builds no kernel.
  static std::vector<ConvolutionVariant> candidates(const ConvolutionDesc& desc);

  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  // The library's name of the implementation: "jit:avx512_core", …
  const std::string& name() const;
  std::size_t scratch_bytes() const;
  std::size_t packed_weight_bytes() const;

  // `src` and `dst` in their layouts, `operands` one for each binary post-op, `scratch` of scratch_bytes(),
  // all aligned to 64 bytes. Channel padding of a blocked src must hold zeros; that of dst will.
  Status execute(const void* src, void* dst, std::span<const void* const> operands, void* scratch) noexcept;

 private:
  explicit Convolution(std::unique_ptr<onednn::Execution> execution);

  std::unique_ptr<onednn::Execution> execution_;
};

}  // namespace hone::kernels
