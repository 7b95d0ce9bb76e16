// oneDNN's maximum passes over NaN; a maximum of ONNX is NaN where its window holds one.
#pragma once

#include "kernels/cpu/dnnl/pooling.h"

namespace hone::kernels {

// Makes those elements of `dst`, the maxima of `src`, NaN. Reads `src` once; where it holds NaN, window by window.
void give_nans(const PoolingDesc& desc, const float* src, float* dst) noexcept;

}  // namespace hone::kernels
