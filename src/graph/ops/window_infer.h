// Inference that convolution and pooling share: windows over extents that may be unknown or symbolic.
#pragma once

#include "core/window.h"
#include "graph/op_table.h"
#include "graph/ops/infer_helpers.h"

namespace hone::graph::infer {

// The output extents for the spatial extents `input`. An unknown extent stays as it is (symbol included)
// where the window certainly keeps it, and is unknown otherwise.
Result<Dims> windows(WindowSpec spec, std::span<const Dim> input);

// The extents of `type` from axis 2 on, where they are all known; empty otherwise.
Shape static_kernel(const TensorType& type);

// Taps of the windows of a node: the product of kernel_shape, or of the weight's spatial extents.
double taps(std::span<const int64_t> kernel);

}  // namespace hone::graph::infer
