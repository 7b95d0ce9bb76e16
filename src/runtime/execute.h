// Runs a graph once on given data, whichever way it can: as a plan where every shape is known, by the
// interpreter where shapes depend on data or the graph branches. Says which.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "runtime/plan.h"
#include "runtime/provider.h"

namespace hone::runtime {

struct Execution {
  std::vector<Tensor> outputs;
  bool planned = false;
  std::string how;  // "plan of 53 steps on cpu", "interpreted: 'y' has type f32[?], known only when it runs"
};

Result<Execution> execute(const graph::Graph& graph, const Provider& provider, std::span<const Tensor> inputs,
                          const PlanOptions& options = {});

}  // namespace hone::runtime
