// Removes operators that change nothing, and joins chains of those that only rename or reorder: Identity,
// Dropout at inference, casts to the same type, reshapes of reshapes, transposes that cancel, slices, pads
// and expands of everything, concatenations of one. Why: exporters leave them, and each hides a value's real
// producer from the patterns that follow.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> simplify_views(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
