// Results whose shape only the data know, of which is known how large they can be: a node that selects boxes is computed on the
// device, with zeros behind what it has found and a number that says how much that is, and the host takes no more than so
// many rows of it (host_step.h). Only where the provider has a kernel for it.
#pragma once

#include "core/result.h"
#include "graph/graph.h"
#include "runtime/provider.h"

namespace hone::runtime {

// The graph with each NonMaxSuppression that `provider` has a kernel for as hone.NonMaxSuppression and hone.FirstRows; the graph
// as it is if there is none.
Result<graph::Graph> with_bounded_results(graph::Graph graph, const Provider& provider);

}  // namespace hone::runtime
