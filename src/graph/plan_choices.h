// What a plan decided about its graph, as data: which kernel runs each node, and which nodes run side by side. The
// runtime makes it by measuring and can be told to obey it (runtime/plan.h); files keep it (model/plan/plan_file.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::graph {

struct PlanChoices;

// The kernel of a node that has one: not of an elided one (buffer_assignment.h).
struct KernelChoice {
  NodeId node;
  std::string candidate;    // a provider's name for it; empty: a step of the host, or a copy of the queue's
  double microseconds = 0;  // of one run, where it was measured
  uint32_t of = 1;          // how many there were to choose from
  // Of a step of the host, for each body of its node; empty for every other.
  std::vector<PlanChoices> bodies;
};

// Nodes [first, last], which run in lanes.
struct LaneChoice {
  uint32_t first = 0, last = 0;
  std::vector<std::vector<NodeId>> lanes;
  double microseconds = 0;  // of all, where it was measured
};

struct PlanChoices {
  std::vector<KernelChoice> kernels;  // in the order of nodes
  std::vector<LaneChoice> sections;   // the same
};

// Whether `choices` can be those of a plan of `graph`: a kernel for each node that needs one and for no other, lanes
// that do not depend on each other. What candidates there are only the provider knows. For choices from a file; bodies'
// are checked where their graphs are made.
Status check_choices(const Graph& graph, const PlanChoices& choices);

}  // namespace hone::graph
