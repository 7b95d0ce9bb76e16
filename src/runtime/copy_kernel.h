// hone.CopyTo as a plan's kernel: a copy by the queue itself, the same on every provider.
#pragma once

#include <memory>

#include "graph/graph.h"
#include "runtime/kernel.h"

namespace hone::runtime {

// Between the memory of a plan's device and host memory that the plan has as staging memory, or within one of
// them.
std::unique_ptr<Kernel> make_copy_kernel(const graph::TensorType& from, const graph::TensorType& to);

}  // namespace hone::runtime
