// What a convolution is: shapes, epilogue, and which variant of it is meant. No kernel is here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/layout.h"
#include "core/shape.h"
#include "kernels/cpu/dnnl/post_op.h"

namespace hone::kernels {

enum class ConvolutionAlgorithm : uint8_t {
  kAuto,      // the library's own choice
  kDirect,    //
  kWinograd,  // F(4x4,3x3) in f32: fewer multiplications, relative L2 error near 1e-6 instead of 1e-7
  kMatMul,    // a 1x1 convolution of stride 1 without padding as one matrix product; channels_last only
};

std::string_view algorithm_name(ConvolutionAlgorithm algorithm);

// Empty strides, dilations and pads mean 1, 1 and 0. All spatial vectors have the same length, 1 to 3.
struct ConvolutionDesc {
  DType dtype = DType::kF32;   // of image and weights: f32 or bf16, whose sums are f32
  DType result = DType::kF32;  // f32, or theirs
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
  bool has_bias = false;    // in f32 where constant, else of dtype
  // Weights and bias are given to create() and packed there. Otherwise they come with every execute(), which
  // packs the weights anew.
  bool constant_weights = true;
  std::vector<PostOp> post_ops;
  // The variant; see candidates().
  Layout src_layout = Layout::kPlain;
  Layout dst_layout = Layout::kPlain;
  // Image, result and operands of the result's shape come and go plain; they are brought into the layouts above,
  // and back, in scratch memory.
  bool given_plain = false;
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
  bool given_plain = false;

  void apply_to(ConvolutionDesc& desc) const;
  std::string name() const;  // "blocked16 winograd jit_wino_4x3:avx512_core"
};

// The description as errors name it: "convolution 64x[56,56] -> 64 channels, …".
std::string describe(const ConvolutionDesc& desc);

}  // namespace hone::kernels
