// Folds constants: a node whose inputs are all known is computed now, and its results become constants.
// Why: exporters leave arithmetic on shapes, casts of weights, and constant sub-expressions; a plan should
// not redo them. Why first: later passes recognise patterns by constants (a scale, an axis, a target shape)
// that folding uncovers.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Also folds Shape and Size of values whose shape is known, though their elements are not. Does not fold what
// is impure (random), or what would make the model much larger (a constant expanded to over 16 MiB and 8
// times its inputs).
Result<PassOutcome> fold_constants(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
