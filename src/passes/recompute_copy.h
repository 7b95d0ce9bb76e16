// A node that is computed again, for some of its outputs: what it needs, and the node itself. For recompute() alone.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::passes {

inline constexpr uint32_t kNoScheduled = UINT32_MAX;  // an operand that is absent

// Whether running it twice gives the same, and nothing else: no control flow, no update of states.
bool can_run_again(const graph::Graph& graph, const graph::Node& node);

// For the outputs in `wanted`: which are made (operators with a fixed number make all), and which inputs are read.
struct CopyOperands {
  std::vector<bool> outputs;
  std::vector<bool> inputs;
};
CopyOperands operands_of_copy(const graph::Graph& graph, const graph::Node& node,
                              const std::vector<bool>& wanted);

// The copy; its inputs and outputs are to be filled in by those of the node that `inputs` and `outputs` say.
struct CopiedNode {
  graph::Node node;
  std::vector<uint32_t> inputs, outputs;
};
Result<CopiedNode> copy_of(const graph::Graph& graph, const graph::Node& node,
                           const std::vector<bool>& wanted);

}  // namespace hone::passes
