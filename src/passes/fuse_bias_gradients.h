// Joins the gradients of a linear layer's weights and bias, dW = Xᵀ·dY and db = the sum of dY's rows, in one group: the
// product reads dY anyway and sums over the same rows, so that a kernel may give both in one trip. Why: each sum by
// itself reads its dY from memory once more. Why here: behind fuse_epilogues, which has the first word about what
// follows a product, and where types and transposes are what they will be.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Groups of kind "bias_gradient", of products by themselves and of those with an epilogue (gradients that are accumulated).
// The sum may be of another shape of the same dY, as a batch of sequences is.
Result<PassOutcome> fuse_bias_gradients(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
