// Replaces Attention, and gradient operators of hone, that the target has no kernel for by ordinary operators. Why: a kernel
// that does them in two trips through memory is what they are for; without one, kernels of a few operators each are far faster
// than the reference. First of all, so that every later pass sees what will run; expressions that an Attention and its gradient
// have in common become one again.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> spell_out_gradients(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
