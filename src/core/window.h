// Sliding windows of convolution and pooling along each spatial axis: ONNX's attributes read and checked
// once, automatic padding resolved, output extents. Type inference and kernels share this arithmetic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/attributes.h"
#include "core/result.h"
#include "core/shape.h"

namespace hone {

// The window along one axis: tap t of output o reads input o * stride + t * dilation - pad_begin.
struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;

  int64_t reach() const { return (kernel - 1) * dilation + 1; }  // input elements from first to last tap
  friend bool operator==(const Window&, const Window&) = default;
};

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

struct WindowSpec {
  std::vector<Window> axes;
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode = false;
};

// Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode. `kernel` gives the extents where the
// operator takes them from its weight (kernel_shape, if present, must agree); empty: kernel_shape is
// required.
Result<WindowSpec> read_windows(const Attributes& attributes, std::span<const int64_t> kernel);

// The output extent of an input of `input` elements; resolves `auto_pad` into the window's pads. An error
// where the window does not fit.
Result<int64_t> place_window(Window& window, AutoPad auto_pad, bool ceil_mode, int64_t input);
Result<Shape> place_windows(WindowSpec& spec, std::span<const int64_t> input);

// The same for a transposed convolution, which also reads output_shape and output_padding. The pads are those
// of the convolution that it is the transpose of, so a negative or larger output is cut or filled at its end.
Result<Shape> place_transposed_windows(WindowSpec& spec, const Attributes& attributes,
                                       std::span<const int64_t> input);

}  // namespace hone
