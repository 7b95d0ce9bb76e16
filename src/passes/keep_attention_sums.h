// The gradient of attention reads the result of the forward pass and the sums of its rows (hone.AttentionWithSums) instead of
// computing them again, where the target's kernels for both take it so: those that work on tiles of scores (cuDNN's) want the
// sums before the first tile. A CPU's kernel has whole rows in its cache and needs none (decision 61).
//
// Why here: after types are what they will be, which kernels there are depends on; before groups take attention in.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> keep_attention_sums(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
