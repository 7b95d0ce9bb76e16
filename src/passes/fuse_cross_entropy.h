// Finds the gradient of a SoftmaxCrossEntropyLoss, which its rule writes as a softmax, a product and a scatter that adds, and
// computes it as one operator where the target has a kernel for that. Why: the scores of a language model are the largest tensor
// of its step, and three operators read and write them three times. Before pointwise operators are fused, which would take the
// product.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> fuse_cross_entropy(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
