// Runs a graph once on given data, as a plan: on the provider's device what can be there, on the host what
// cannot. Says which.
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
  bool planned = false;  // throughout: no step ran on the host
  std::string how;       // what describe() says
  PlanMemory memory;     // of the plan
};

// Extents that the graph leaves open are those of `inputs`.
Result<Execution> execute(const graph::Graph& graph, const Provider& provider, std::span<const Tensor> inputs,
                          const PlanOptions& options = {});

// "plan of 53 steps on cpu", and where the border runs: "…, 4 of them on the host: 'nms' (NonMaxSuppression):
// the shape of 'kept', i64[?,3], is known only when it runs; …".
std::string describe(const Plan& plan, const Provider& provider);

}  // namespace hone::runtime
