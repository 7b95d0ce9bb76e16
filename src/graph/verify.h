// The specification of a valid graph, executable. Run after every pass in tests and debug builds.
#pragma once

#include "core/result.h"
#include "graph/graph.h"

namespace hone::graph {

// Checks: ids in range; values defined before use and by one producer; names unique and not empty; operators
// known, with the right arity and attributes; types equal to what the table infers; constants' data match
// their type; states in range, each input and output in one pair, both of one type; bodies closed and valid,
// their inputs and outputs matching the node; layouts only where an operator takes them; inputs and
// outputs of a node on one device, unless its operator copies between them; provenance present. The error
// names the node, the rule and what to fix.
Status verify(const Graph& graph);

}  // namespace hone::graph
