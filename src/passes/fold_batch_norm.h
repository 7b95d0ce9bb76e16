// Folds inference-mode batch normalisation, and other per-channel scales and shifts, into the convolution
// before it:
//   Conv(x, W, b) then BN(scale, B, mean, var)  =  Conv(x, W·s, (b − mean)·s + B)  with s = scale / sqrt(var
//   + ε).
// Why: a pass over memory for each normalisation becomes nothing. Why here: before epilogues are fused, which
// then see the activation behind the convolution. A batch normalisation that stays becomes Mul and Add, so
// that pointwise groups take it.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> fold_batch_norm(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
