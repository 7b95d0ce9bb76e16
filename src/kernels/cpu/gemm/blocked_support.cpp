#include "kernels/cpu/gemm/blocked_support.h"

#include <fmt/core.h>

#include "kernels/cpu/gemm/fused_epilogue.h"
#include "kernels/cpu/gemm/tile.h"

namespace hone::kernels::gemm {

Error refuse(const ConvolutionDesc& desc, std::string_view kernel, std::string_view reason) {
  return unsupported(fmt::format("{}: {} {}", describe(desc), kernel, reason));
}

Status supports_blocked16(const ConvolutionDesc& desc, std::string_view kernel) {
  if (desc.dtype != DType::kF32) return refuse(desc, kernel, "takes f32 only");
  if (desc.groups != 1) return refuse(desc, kernel, "takes no groups");
  if (desc.src_layout != Layout::kBlocked16 || desc.dst_layout != Layout::kBlocked16)
    return refuse(desc, kernel, "takes blocked16");
  const auto epilogue = fuse_epilogue(desc.post_ops, desc.dst_shape(), Layout::kBlocked16);
  if (!epilogue) return refuse(desc, kernel, "fuses none of these post-ops");
  if (desc.out_channels % kBlock != 0 && !epilogue->keeps_zero())
    return refuse(desc, kernel, "cannot keep the channel padding zero");
  return {};
}

}  // namespace hone::kernels::gemm
