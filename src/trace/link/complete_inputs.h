// Inputs that a recorder leaves out and that other calls tell. PyTorch's profiler writes no element types of
// tensors in lists, and nothing of lists of more than 30 tensors.
#pragma once

#include "trace/span_nesting.h"
#include "trace/trace.h"

namespace hone::trace::link {

// Rewrites Call::inputs:
// - tensors in lists get the type of the tensor of the same shape that was last used before;
// - operators that update parameters (fused or foreach) get the gradients of their step for the lists that
//   are missing, each once, however many micro-batches it was summed over. An optimizer that goes over its
//   tensors in several groups calls every kind that often, or a multiple of it: then each call gets its part.
//   One that calls some kind only once has one group, and calls each kind for all of its tensors.
// Steps must be assigned.
void complete_inputs(Trace& trace, const SpanNesting& nesting);

}  // namespace hone::trace::link
