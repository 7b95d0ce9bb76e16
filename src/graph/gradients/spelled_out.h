// Gradient operators of hone as ordinary nodes: what they mean, for providers without a kernel of their own and for their own
// gradients.
#pragma once

#include <vector>

#include "core/result.h"
#include "graph/emitter.h"
#include "graph/graph.h"

namespace hone::graph {

// hone.BatchNormalizationGradient, hone.LayerNormalizationGradient.
bool can_be_spelled_out(const Node& node);

// The outputs of such a node, computed from `inputs` by nodes that `emitter` adds. An error where the rank is not known.
Result<std::vector<ValueId>> spelled_out(NodeEmitter& emitter, const Node& node,
                                         const std::vector<ValueId>& inputs);

}  // namespace hone::graph
