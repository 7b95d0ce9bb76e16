// Lowering of graph nodes to a provider's kernels: what each family offers for a node. A lowering returns no
// candidates for a node that it does not serve (another dtype, layout or form), never an error: the next one
// is asked.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "runtime/provider.h"

namespace hone::runtime {

// A node to be lowered, with short ways to look at it.
struct LowerContext {
  const graph::Graph& graph;
  const graph::Node& node;

  bool has(std::size_t i) const { return node.has_input(i); }
  const graph::TensorType& in(std::size_t i) const { return graph.type(node.inputs[i]); }
  const graph::TensorType& out(std::size_t i = 0) const { return graph.type(node.outputs[i]); }
  Shape in_shape(std::size_t i) const { return in(i).shape(); }
  Shape out_shape(std::size_t i = 0) const { return out(i).shape(); }
  // The data of a constant input; null if it is absent or computed.
  const Tensor* constant(std::size_t i) const {
    return has(i) && graph.value(node.inputs[i]).is_constant() ? &*graph.value(node.inputs[i]).constant
                                                               : nullptr;
  }
};

using LowerFunction = void (*)(const LowerContext&, std::vector<Candidate>&);

}  // namespace hone::runtime
