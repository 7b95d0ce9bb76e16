// What every own f32 convolution on blocked16 tensors asks of a description, besides its window.
#pragma once

#include <string_view>

#include "core/result.h"
#include "kernels/cpu/dnnl/convolution_desc.h"

namespace hone::kernels::gemm {

// "…: KERNEL REASON".
Error refuse(const ConvolutionDesc& desc, std::string_view kernel, std::string_view reason);

// f32, no groups, blocked16 in and out, and an epilogue that FusedEpilogue holds and that leaves the channel
// padding of the result zero.
Status supports_blocked16(const ConvolutionDesc& desc, std::string_view kernel);

}  // namespace hone::kernels::gemm
