// Lets the gradient of a BatchNormalization take that of the Relu behind it: where the Relu's result is not above 0, nothing
// passes. Why: the kernel reads the gradient anyway; alone, the Relu's is one more trip of three images through memory. Before
// layouts are assigned, so that what remains is one operator in whatever layout.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> fuse_relu_gradient(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
