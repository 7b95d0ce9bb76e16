// A reference kernel as a plan's kernel: for operators that a provider has no kernel of its own for. Correct,
// slow, and it allocates; its implementation says "reference", so that the report shows where it runs.
#pragma once

#include "runtime/provider.h"

namespace hone::runtime {

// The candidate that runs `node` through the interpreter. Types must be static and layouts plain.
Candidate reference_candidate(const graph::Graph& graph, const graph::Node& node);

}  // namespace hone::runtime
