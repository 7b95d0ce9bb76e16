#include "runtime/cpu/window.h"

#include <algorithm>

namespace hone::runtime::cpu {
namespace {

// The whole padding that makes a convolution (or its transpose) of `input` give `output`.
int64_t total_padding(int64_t input, int64_t output, int64_t kernel, int64_t stride, int64_t dilation,
                      int64_t output_padding, bool transposed) {
  const int64_t reach = dilation * (kernel - 1) + 1;
  const int64_t total = transposed ? (input - 1) * stride + reach + output_padding - output
                                   : (output - 1) * stride + reach - input;
  return std::max<int64_t>(0, total);
}

}  // namespace

Window read_window(const graph::Node& node, const Shape& input, const Shape& kernel, const Shape& output,
                   bool transposed) {
  const std::size_t rank = kernel.size();
  const Attributes& a = node.attributes;
  Window window;
  window.strides = a.ints("strides", Ints(rank, 1));
  window.dilations = a.ints("dilations", Ints(rank, 1));
  window.output_padding = a.ints("output_padding", Ints(rank, 0));
  const std::string auto_pad = a.text("auto_pad", "NOTSET");
  const bool given_output = transposed && a.has("output_shape");
  if (auto_pad == "NOTSET" && !given_output) {
    const Ints pads = a.ints("pads", Ints(2 * rank, 0));
    window.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
    window.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
    return window;
  }
  for (std::size_t i = 0; i < rank; ++i) {
    const int64_t total = auto_pad == "VALID"
                              ? 0
                              : total_padding(input[i], output[i], kernel[i], window.strides[i],
                                              window.dilations[i], window.output_padding[i], transposed);
    const int64_t small = total / 2;
    const bool more_at_begin = transposed ? auto_pad != "SAME_UPPER" : auto_pad == "SAME_LOWER";
    window.pads_begin.push_back(more_at_begin ? total - small : small);
    window.pads_end.push_back(more_at_begin ? small : total - small);
  }
  return window;
}

}  // namespace hone::runtime::cpu
