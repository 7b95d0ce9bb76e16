// Fuses what stands behind a normalisation of rows in f32 into its kernel: the Cast to the narrow type that the next product
// reads, and what is added to the gradient of its input, which is the gradient of the residual stream. Why here: after
// products took their Adds, before Casts and Adds become pointwise groups, which would read the tensor again.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Groups of kind "normalization": LayerNormalization or RMSNormalization with a Cast to f16 or bf16, beside which others may
// read the f32 result; hone.LayerNormalizationGradient with the one Add that reads dx, and a Cast.
Result<PassOutcome> fuse_normalization(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
