// Which operators of two runs, or of two ranks of one run, do the same work. Names alone do not say it: an
// optimised plan fuses operators, and another batch size gives every operator other inputs.
#pragma once

#include <cstddef>
#include <vector>

#include "analyze/findings.h"

namespace hone::analyze {

// Indices of operators that belong together: those of the first run, then those of the second. One that
// stands alone on its side is a set, too.
using OperatorSet = std::vector<std::size_t>;

// For our own plans: operators that share a name or a node of the model. `all`: those of the first run, then
// those of the second.
std::vector<OperatorSet> match_by_model(const std::vector<const OperatorTime*>& all);

// For foreign programs: by kind, inputs and phase, which their names say. What then stands alone on its side
// is matched by kind. `first_count` of `all` are of the first run.
std::vector<OperatorSet> match_by_inputs(const std::vector<const OperatorTime*>& all,
                                         std::size_t first_count);

}  // namespace hone::analyze
