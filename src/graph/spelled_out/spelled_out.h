// Operators as ordinary nodes: what they mean in other operators, written once, for targets without a kernel of their own
// (passes/spell_out.h) and for gradients.
#pragma once

#include <vector>

#include "core/result.h"
#include "graph/emitter.h"
#include "graph/graph.h"

namespace hone::graph {

class GradientContext;

// When a target without a kernel for the operator is given the nodes instead.
enum class SpellOut : uint8_t {
  kNever,  // there is no such form
  kAnyway,  // Attention and hone's gradients, which models and rules said in these nodes: later passes work on them
  kWithKernels,  // where it has a kernel for each of the nodes: the reference computes one operator faster than many
};
SpellOut spells_out(const Node& node);

// The outputs of such a node, computed from `inputs` by nodes that `emitter` adds; kNoValue for those that the node does not
// have. An error where extents or parameters that the nodes depend on are not known, or the operator's own checks would
// refuse it.
Result<std::vector<ValueId>> spelled_out(NodeEmitter& emitter, const Node& node,
                                         const std::vector<ValueId>& inputs);
// The rule of operators whose gradient is that of those nodes.
Status through_spelled_out(GradientContext& context);

}  // namespace hone::graph
