// Assigns memory layouts: convolutions work in the layout that the target's run fastest in (blocks of 8 or 16
// channels), and so does everything between them that can; hone.Reorder nodes stand where a layout has to
// change. Why: a convolution vectorises over channels only if channels lie together; on rows of pixels it is
// a matrix product behind a copy (im2col), at a fraction of the speed. Reorders are paid once at the borders,
// not at each convolution.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// A node takes a layout only if the target says that it has a kernel for it so. Inputs and outputs of the
// graph stay plain.
Result<PassOutcome> assign_layouts(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
