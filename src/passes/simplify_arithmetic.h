// Rewrites arithmetic with known numbers into less of it: additions of 0 and products with 1 vanish,
// divisions by constants become products, powers become products and roots, chains of constants become one,
// bounds of bounds become one, and an Expand goes where the operator behind it broadcasts anyway. Why: each
// is a pass over memory or a slow instruction saved. Why here: with the simplifications, so that the patterns
// that follow see one form of each expression.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> simplify_arithmetic(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
