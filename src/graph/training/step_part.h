// Which part of a training step a node belongs to. The step says it in the nodes' provenance, which passes keep, so that
// the step's operators can be told apart after any pass (docs/decisions/0054-what-a-training-run-leaves.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/builder.h"

namespace hone::graph {

enum class StepPart : uint8_t {
  kNone,  // of no training step
  kForward,
  kLoss,
  kBackward,
  kAccumulation,  // of the backward pass: adding up what micro-batches give, which stays f32 in a narrow step
  kOptimizer,     // clipping, schedule, updates, moving average
};

// The nodes added since there were `first` of them belong to this part.
void mark_part(GraphBuilder& builder, std::size_t first, StepPart part);

// Of a node that stands for nodes of several parts (a fused group; a forward value that the backward pass had computed
// again) the first that its provenance names.
StepPart part_of_step(const Node& node);

// What of the model the node stands for: its provenance without what it says of the step.
std::vector<std::string> model_provenance(const Node& node);

}  // namespace hone::graph
