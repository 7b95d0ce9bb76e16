// Replaces operators that the target has no kernel for by ordinary operators that it has (graph/spelled_out/spelled_out.h):
// Attention, gradient operators of hone, and operators of models that are compositions of others, RotaryEmbedding and LRN
// among them. Why: a kernel that does them in one trip through memory is what they are for; without one, kernels of a few
// operators each are far faster than the reference, which on a GPU runs on the host besides. First of all, so that every later
// pass sees what will run; expressions that several of them have in common become one again.
//
// Operators of models become others only where the target has a kernel for each of these; where it has none yet (of a type
// that a later pass changes, of parameters that folding has still to find), the pass runs again.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> spell_out(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
