// Recognises activations that exporters spell out in primitive operators:
//   Gelu (erf):   0.5·x·(1 + erf(x/√2)), in the several orders in which it is written
//   Gelu (tanh):  0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³)))
//   Swish (SiLU): x·sigmoid(x)
//   HardSwish:    x·hardsigmoid(x; 1/6, 1/2), and x·clip(x+3, 0, 6)/6
// Why: one operator is one pass over memory and one epilogue; four to eight are not.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> recognise_activations(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
