// Fuses connected pointwise operators into groups of kind "pointwise": one kernel computes all of them tile
// by tile, so that only the group's inputs and outputs pass through memory. Why last: operators that a
// product's epilogue takes are gone by then, and what is recognised (Gelu, normalisation, attention) is one
// operator.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Members have one static output shape and read operands that broadcast into it; types are f32, i64, i32 and
// bool. A group may give several values out. A group never waits for itself: no path leads out of it and
// back, through other groups either.
Result<PassOutcome> fuse_pointwise(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
