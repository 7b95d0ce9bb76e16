// A small graph of one node for every operator that has a reference kernel: for what must hold of all of them.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace hone::backends {

struct ReferenceCase {
  std::string op;
  graph::Graph graph;  // its only node is of this operator
};

std::vector<ReferenceCase> reference_cases();

}  // namespace hone::backends
