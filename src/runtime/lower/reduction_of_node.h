// What the operators that reduce axes compute, read from their nodes once for all providers.
#pragma once

#include <optional>
#include <vector>

#include "kernels/reduction/reduce_desc.h"
#include "runtime/lower/lower.h"

namespace hone::runtime {

struct NodeReduction {
  kernels::ReduceDesc desc;         // of input 0 as it lies in memory
  std::vector<std::size_t> unread;  // inputs that are known parameters
};

// Of Reduce* and of the global poolings; nullopt for other operators, computed axes, and layouts in which the reduction
// would not leave padding as it must be.
std::optional<NodeReduction> reduction_of_node(const LowerContext& context);

}  // namespace hone::runtime
