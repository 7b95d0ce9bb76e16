// Attention, and gradient operators of hone, as ordinary nodes: what they mean, for providers without a kernel of their own and
// for their own gradients.
#pragma once

#include <vector>

#include "core/result.h"
#include "graph/emitter.h"
#include "graph/graph.h"

namespace hone::graph {

class GradientContext;

// Attention, hone.AttentionGradient, hone.BatchNormalizationGradient, hone.LayerNormalizationGradient.
bool can_be_spelled_out(const Node& node);

// The outputs of such a node, computed from `inputs` by nodes that `emitter` adds. An error where the rank is not known.
Result<std::vector<ValueId>> spelled_out(NodeEmitter& emitter, const Node& node,
                                         const std::vector<ValueId>& inputs);
// The rule of such operators: their gradient is that of those nodes.
Status through_spelled_out(GradientContext& context);

// Of each kind.
Result<std::vector<ValueId>> attention_spelled_out(NodeEmitter& emitter, const Node& node,
                                                   const std::vector<ValueId>& inputs);
Result<std::vector<ValueId>> attention_gradient_spelled_out(NodeEmitter& emitter, const Node& node,
                                                            const std::vector<ValueId>& inputs);
Result<std::vector<ValueId>> normalization_gradient_spelled_out(NodeEmitter& emitter, const Node& node,
                                                                const std::vector<ValueId>& inputs);

}  // namespace hone::graph
