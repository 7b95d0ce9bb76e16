// Convolution and transposed convolution with fused epilogue, 1 to 3 spatial axes, any grouping, on oneDNN.
// Weights are packed once, at creation. Shapes and layouts in, a kernel object out; nothing here knows a
// graph.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/winograd.h"
#include "kernels/cpu/dnnl/convolution_desc.h"

namespace hone::kernels {

namespace onednn {
class Execution;
}

// Created for the OpenMP thread count that holds in the creating thread; run it under the same. One object
// runs one execution at a time; different objects run concurrently.
class Convolution {
 public:
  // `weights` and `bias` in ONNX's order, row-major; read during the call only, if constant_weights.
  static Result<std::unique_ptr<Convolution>> create(const ConvolutionDesc& desc, const void* weights,
                                                     const void* bias);
  // Every variant that the library has a real implementation of (its scalar reference loops excluded), in no
  // particular order. Cheap: builds no kernel.
  static std::vector<ConvolutionVariant> candidates(const ConvolutionDesc& desc);
  // Those in the description's own layouts.
  static std::vector<ConvolutionVariant> candidates_as_laid_out(const ConvolutionDesc& desc);
  // Those that work in another layout than the plain one in which everything comes and goes: for images that no
  // layout could be chosen for ahead, as in training, where all that a convolution reads is computed.
  static std::vector<ConvolutionVariant> candidates_given_plain(const ConvolutionDesc& desc);

  ~Convolution();
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  // oneDNN's name of the implementation: "jit:avx512_core", …
  std::string_view name() const;
  // The tile of a Winograd implementation; none: direct, or as a matrix product.
  std::optional<WinogradTile> winograd_tile() const;
  std::size_t scratch_bytes() const;
  std::size_t packed_weight_bytes() const;

  // `src` and `dst` in their layouts, `operands` one for each binary post-op, `scratch` of scratch_bytes(),
  // all aligned to 64 bytes. Channel padding of a blocked src must hold zeros; that of dst will.
  Status execute(const void* src, void* dst, std::span<const void* const> operands, void* scratch) noexcept;
  // The same where the weights are not constant; `bias` is read if has_bias.
  Status execute_with(const void* weights, const void* bias, const void* src, void* dst,
                      std::span<const void* const> operands, void* scratch) noexcept;

 private:
  Convolution(std::unique_ptr<onednn::Execution> execution, const ConvolutionDesc& desc);

  std::unique_ptr<onednn::Execution> execution_;
  bool constant_weights_ = true;
  bool has_bias_ = false;
};

}  // namespace hone::kernels
