// What a model is made of and what it must cost at least: the numbers of `hone show`. Static knowledge only;
// nothing runs. A node whose shapes are not all known has no costs, and no floor.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/roofs.h"
#include "graph/graph.h"
#include "trace/trace.h"

namespace hone::lab {

struct NodeSummary {
  trace::Operator op;  // name, kind, costs, provenance
  std::string type;    // of the first output: "f32[1,64,56,56]"
  bool has_costs = false;
  double floor_ms = 0;         // 0 without costs or roofs
  std::string roof;            // what sets the floor: "f32 compute", "DRAM"
  std::size_t body_nodes = 0;  // of If, Loop, Scan, in all bodies

  double intensity() const { return op.bytes() > 0 ? op.flops / op.bytes() : 0; }
};

struct ModelSummary {
  std::vector<NodeSummary> nodes;
  double parameters = 0;  // weights: constants of floating-point and 8-bit (quantised) types
  double parameter_bytes = 0;
  double flops = 0;  // these three over the nodes that have costs
  double bytes = 0;
  double floor_ms = 0;
  std::size_t without_costs = 0;  // nodes
};

// `roofs`: of the machine that the floors are for; none: no floors.
ModelSummary summarise_model(const graph::Graph& graph, const std::optional<Roofs>& roofs);

}  // namespace hone::lab
