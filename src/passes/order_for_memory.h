// Puts the operators into an order that keeps fewer bytes alive at once: a branch is finished before the next
// one begins. Why: the arena of a plan is as large as what is alive together, and what is smaller stays
// longer in the caches. Why here: last, when no pass makes or removes a value any more.
#pragma once

#include <cstddef>

#include "passes/pass.h"

namespace hone::passes {

// Exact: each operator computes what it did. Changes the order only where that lowers peak_live_bytes(), and
// says so where values without a size keep it from knowing.
Result<PassOutcome> order_for_memory(const graph::Graph& graph, const PassContext& context);

// The most bytes alive at one operator of a graph, in its order: by the lifetimes that a plan gives its
// buffers, operators on single elements working in place, without the kernels' scratch. Values whose size is
// known only when the graph runs are no part of it, as they are no part of a plan's arena.
std::size_t peak_live_bytes(const graph::Graph& graph);

}  // namespace hone::passes
