// Merges common sub-expressions: of nodes that compute the same from the same inputs, one stays.
// Why: exporters write one expression once per use (position masks, casts of one weight, Shape of one
// tensor). Why here: after folding, so that equal constants are seen; before patterns that want a value's
// only reader.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Equal constants (bitwise, up to 4 KiB) are merged, too. Impure operators are left alone.
Result<PassOutcome> merge_common(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
