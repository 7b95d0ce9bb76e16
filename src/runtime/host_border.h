// Where a plan leaves its device: nodes that only the host can run (host_step.h) get their inputs there, and
// give their outputs there, by hone.CopyTo nodes like any other change of memory. So each crossing is a step
// that can be seen and timed.
#pragma once

#include <string>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::runtime {

// Why `node` has no place among the kernels of a plan, for people; empty if it has one.
std::string why_on_host(const graph::Graph& graph, const graph::Node& node);

// Whether `node` computes in the host's memory.
bool runs_on_host(const graph::Graph& graph, const graph::Node& node);

// The graph with such nodes on the host, every tensor that crosses copied once; the graph as it is if it has
// none. Inputs whose size is not known, or that are strings, lie on the host.
Result<graph::Graph> with_host_border(graph::Graph graph);

}  // namespace hone::runtime
