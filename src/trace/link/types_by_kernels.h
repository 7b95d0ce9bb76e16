// Element types where a recorder wrote the shapes of tensors alone (NVTX ranges of emit_nvtx do, and
// PyTorch's profiler for tensors in lists): kernels tell them by their names.
#pragma once

#include <span>
#include <string_view>

#include "core/dtype.h"
#include "trace/link/launches.h"
#include "trace/trace.h"

namespace hone::trace::link {

// The type of the elements that a kernel of this name works on; kUndefined: the name does not say.
DType element_type_of_kernel(std::string_view name);

// Rewrites Call::inputs of calls that launched kernels, if no tensor of the trace has a type: all tensors of
// a call get the type of its longest kernel. Tensors of other types beside it (masks, indices, weights kept
// in f32) are taken for it, and a warning of the trace says so.
void type_inputs_by_kernels(Trace& trace, std::span<const DeviceWork> work);

// The same for lists of tensors, in any trace. Fused steps of optimizers are always typed: parameters,
// gradients and moments have one type, and shapes mislead (no other call shows the part of a sharded weight
// that is stepped). Other operators on lists are typed where no tensor of theirs has a type: a copy that
// converts is taken for one that does not. Tensors without dimensions, the counters of steps, keep theirs.
void type_lists_by_kernels(Trace& trace, std::span<const DeviceWork> work);

}  // namespace hone::trace::link
