// The interpreter: runs any valid graph with the reference kernels, node by node, whatever its shapes. It is
// the oracle that plans are compared with, what constant folding asks, and what runs graphs whose shapes
// depend on data. Slow by design; tensors are always plain (hone.Reorder is the identity here), and a value
// is freed after its last reader.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::runtime {

struct InterpretOptions {
  // Called with the outputs of each node of the outermost graph, in order; for per-layer comparisons. May be
  // empty.
  std::function<void(const graph::Node&, std::span<const Tensor> outputs)> observe;
};

// Inputs in the order of graph.inputs(); outputs in that of graph.outputs(). An error names the node.
Result<std::vector<Tensor>> interpret(const graph::Graph& graph, std::span<const Tensor> inputs,
                                      const InterpretOptions& options = {});

// One node on given inputs (undefined where an optional one is absent), bodies included. What the memory
// budget (core/memory_budget.h) has no room for is an error: a loop that collects without end stops there.
Result<std::vector<Tensor>> interpret_node(const graph::Node& node, std::span<const Tensor> inputs);

// Checks dtype and shape of what a caller gives against the graph's inputs, symbols bound consistently. The
// error names the input and what was expected.
Status check_inputs(const graph::Graph& graph, std::span<const Tensor> inputs);

}  // namespace hone::runtime
