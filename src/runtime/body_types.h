// What a plan knows of the bodies of If, Loop and Scan from where the node stands: shapes of what they are
// given, and constants that they capture.
#pragma once

#include <vector>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::runtime {

struct SpecialisedBody {
  graph::Graph graph;
  std::vector<bool> given;  // of each input of the body: false for one that is a constant now
};

// Body number `body` of `node`, a control-flow node of `graph`. Values that a Loop or Scan carries are taken
// to keep the shape that they begin with where the body, given that shape, gives it back.
Result<SpecialisedBody> specialise_body(const graph::Graph& graph, const graph::Node& node, std::size_t body);

}  // namespace hone::runtime
