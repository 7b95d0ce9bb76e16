// Shapes that follow from a convolution's description.
#include "kernels/cpu/dnnl/convolution_desc.h"

#include <fmt/core.h>

#include "kernels/cpu/dnnl/window.h"

namespace hone::kernels {
namespace {

// A full operand must lie as the output does; variants move it along.
void move_operands(ConvolutionDesc& desc) {
  for (PostOp& op : desc.post_ops) {
    if (op.is_binary() && op.operand_shape == desc.dst_shape()) op.operand_layout = desc.dst_layout;
  }
}

}  // namespace

std::string describe(const ConvolutionDesc& desc) {
  return fmt::format("{} {}x{} -> {} channels, kernel {}, groups {}, {} to {}",
                     desc.transposed ? "transposed convolution" : "convolution", desc.in_channels,
                     shape_text(desc.input), desc.out_channels, shape_text(desc.kernel), desc.groups,
                     layout_name(desc.src_layout), layout_name(desc.dst_layout));
}

std::string_view algorithm_name(ConvolutionAlgorithm algorithm) {
  switch (algorithm) {
    case ConvolutionAlgorithm::kAuto:
      return "auto";
    case ConvolutionAlgorithm::kDirect:
      return "direct";
    case ConvolutionAlgorithm::kWinograd:
      return "winograd";
    case ConvolutionAlgorithm::kMatMul:
      return "matmul";
  }
  return "?";
}

Shape ConvolutionDesc::output() const {
  const std::size_t rank = input.size();
  Shape extents(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const int64_t stride = strides.empty() ? 1 : strides[axis];
    const int64_t dilation = dilations.empty() ? 1 : dilations[axis];
    const int64_t pads =
        (pads_begin.empty() ? 0 : pads_begin[axis]) + (pads_end.empty() ? 0 : pads_end[axis]);
    const int64_t extra = output_padding.empty() ? 0 : output_padding[axis];
    extents[axis] = transposed ? (input[axis] - 1) * stride + dilation * (kernel[axis] - 1) + 1 - pads + extra
                               : onednn::window_output(input[axis], kernel[axis], stride, dilation, pads);
  }
  return extents;
}

Shape ConvolutionDesc::src_shape() const { return onednn::with_spatial(batch, in_channels, input); }

Shape ConvolutionDesc::dst_shape() const { return onednn::with_spatial(batch, out_channels, output()); }

Shape ConvolutionDesc::weights_shape() const {
  return transposed ? onednn::with_spatial(in_channels, out_channels / groups, kernel)
                    : onednn::with_spatial(out_channels, in_channels / groups, kernel);
}

double ConvolutionDesc::flops() const {
  const auto window = static_cast<double>(element_count(kernel));
  const auto pixels = static_cast<double>(batch * element_count(transposed ? input : output()));
  return 2 * pixels * window * static_cast<double>(in_channels) * static_cast<double>(out_channels / groups);
}

void ConvolutionVariant::apply_to(ConvolutionDesc& desc) const {
  desc.src_layout = src_layout;
  desc.dst_layout = dst_layout;
  desc.algorithm = algorithm;
  desc.implementation = implementation;
  desc.given_plain = given_plain;
  move_operands(desc);
}

std::string ConvolutionVariant::name() const {
  const std::string layouts = src_layout == dst_layout
                                  ? std::string(layout_name(src_layout))
                                  : fmt::format("{}>{}", layout_name(src_layout), layout_name(dst_layout));
  return fmt::format("{}{} {} {}", given_plain ? "plain as " : "", layouts, algorithm_name(algorithm),
                     implementation);
}

}  // namespace hone::kernels
