// Puts the operators into an order that keeps fewer bytes alive at once: a branch is finished before the next
// one begins. Why: the arena of a plan is as large as what is alive together, and what is smaller stays
// longer in the caches. Why here: last, when no pass makes or removes a value any more.
#pragma once

#include <cstddef>

#include "graph/buffer_assignment.h"
#include "passes/pass.h"

namespace hone::passes {

// Exact: each operator computes what it did. Changes the order only where that lowers peak_live_bytes(), and
// says so where values without a size keep it from knowing.
Result<PassOutcome> order_for_memory(const graph::Graph& graph, const PassContext& context);

// The most bytes alive at one operator of a graph, in its order: by the lifetimes that a plan gives its
// buffers, operators on single elements working in place, without the kernels' scratch. Values whose size is
// known only when the graph runs are no part of it, as they are no part of a plan's arena.
std::size_t peak_live_bytes(const graph::Graph& graph);

// What these counts rest on, for who makes others:
// Whether kernels write the node's result over an operand that nothing reads afterwards.
bool works_in_place(const graph::Node& node);
// What a value takes in an arena; 0 for what owns its memory outside of it.
std::ptrdiff_t buffer_bytes(const graph::TensorType& type);
// Puts the next values of states where the plan will: over the states, by the kernels that can.
void put_states_in_place(const graph::Graph& graph, graph::BufferAssignment& buffers);

}  // namespace hone::passes
