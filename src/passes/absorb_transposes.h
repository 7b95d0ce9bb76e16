// Products that read a matrix as it lies.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// MatMul of a transposed matrix as Gemm, which reads it without the copy. Only for targets that multiply half types: their
// libraries read either form as fast, where kernels for CPUs bring a matrix into an order of their own anyway.
Result<PassOutcome> absorb_transposes(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
