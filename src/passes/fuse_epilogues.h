// Fuses what follows a convolution or matrix product into it: bias, activation, residual add, scales. The
// group's kernel applies them to results still in registers, so that the tensor between is never written and
// read back. Why here: after normalisation is folded and activations are recognised, before what is left
// becomes pointwise groups.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Groups of kind "convolution" and "matmul": one Conv, ConvTranspose, MatMul or Gemm, then pointwise
// operators in a chain, each the only reader of the one before. A second operand is a constant (scalar, per
// channel or per column) or a tensor of the result's shape.
Result<PassOutcome> fuse_epilogues(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
