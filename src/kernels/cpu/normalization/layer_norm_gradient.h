// The gradient of LayerNorm in f32: of its input, scale and bias, in one trip through memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/result.h"
#include "kernels/cpu/normalization/normalization.h"

namespace hone::kernels {

struct LayerNormGradientArguments {
  const float* g = nullptr;  // of the result: [rows, length], as x and dx
  const float* x = nullptr;
  const float* scale = nullptr;  // [length], as dscale and dbias
  float* dx = nullptr;           // may be g or x
  float* dscale = nullptr;
  float* dbias = nullptr;
};

// The same numbers for any number of threads: rows are added up in pieces that depend on the shape alone.
class LayerNormGradient {
 public:
  static Result<LayerNormGradient> create(const LayerNormDesc& desc);  // not of RMS
  std::size_t scratch_bytes() const;
  void execute(const LayerNormGradientArguments& arguments, void* scratch) const noexcept;

 private:
  LayerNormDesc desc_;
  int64_t pieces_ = 0;
};

}  // namespace hone::kernels
