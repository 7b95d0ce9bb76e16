// Strides of convolutions where a recorder wrote the shapes of tensors alone (NVTX ranges of emit_nvtx do):
// the backward pass tells the shape of each output, as that of its gradient.
#pragma once

#include "trace/trace.h"

namespace hone::trace::link {

// Rewrites Call::inputs of forward convolutions without strides whose input and weight have the shapes of one
// that the trace has the gradient of; where several gradients of other shapes go with these, none is chosen.
void strides_by_gradients(Trace& trace);

}  // namespace hone::trace::link
