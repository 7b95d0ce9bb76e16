// Computes DequantizeLinear of constants ahead where the target's products take no numbers of the quantised
// type: weights then stand as f32, which its kernels pack, instead of being decoded in every step.
// fold_constants leaves them alone so that this is a decision: a target with products of integers keeps the
// weights as they are. Why here: before batch normalisation folds into weights and kernels pack them.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Nothing happens for a target that was not asked (whose table of products is empty).
Result<PassOutcome> unpack_weights(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
