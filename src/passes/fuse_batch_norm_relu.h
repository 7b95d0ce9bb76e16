// BatchNormalization in training, and the Relu behind it.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// As one operator, where the target has a kernel for it and nobody reads what lies between them: the gradient of both needs the
// Relu's result alone (fuse_relu_gradient.h).
Result<PassOutcome> fuse_batch_norm_relu(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
