// Strides, dilations and pads of convolutions and poolings as numbers: ONNX's attributes with auto_pad
// resolved.
#pragma once

#include "graph/graph.h"

namespace hone::runtime::cpu {

struct Window {
  Shape strides, dilations, pads_begin, pads_end, output_padding;
};

// `input`, `kernel` and `output` are spatial extents; `output` as inferred in the graph.
Window read_window(const graph::Node& node, const Shape& input, const Shape& kernel, const Shape& output,
                   bool transposed);

}  // namespace hone::runtime::cpu
