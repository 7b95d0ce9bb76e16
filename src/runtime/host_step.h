// What a plan cannot plan: a node that decides at run time what runs (If, Loop, Scan), whose extents are
// known only when it has run (NonZero, NonMaxSuppression and what follows them), or that handles strings. It
// runs on the host between the kernels of a plan, on tensors of its own. Bodies are plans in their turn, so
// that only what has to be is interpreted.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "runtime/plan.h"
#include "runtime/provider.h"
#include "runtime/shaped_plans.h"

namespace hone::runtime {

class HostStep {
 public:
  // For a node of `graph`, which lies on the host (host_border.h). Bodies are compiled for `provider`, which
  // must outlive this. `told`: what is chosen for each body, where options.choices is given.
  static Result<std::unique_ptr<HostStep>> make(const graph::Graph& graph, const graph::Node& node,
                                                const Provider& provider, const PlanOptions& options,
                                                std::span<const graph::PlanChoices> told = {});

  // Inputs in the node's order, undefined where an optional one is absent; bodies' captures last.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);

  // "interpreted", "bodies: a plan of 12 steps; …".
  std::string implementation() const;
  std::vector<graph::PlanChoices> choices() const;  // of each body

 private:
  // A body, compiled; inputs that are always the same constant are part of it.
  struct Body {
    std::unique_ptr<Plan> plan;
    std::vector<bool> given;  // of each input of the node's body: whether the plan takes it
  };

  explicit HostStep(const graph::Node& node) : node_(node) {}
  Result<std::vector<Tensor>> run_body(const Body& body, std::span<const Tensor> inputs) const;

  graph::Node node_;
  std::vector<Body> bodies_;             // of control flow
  std::unique_ptr<ShapedPlans> shaped_;  // of everything else
};

}  // namespace hone::runtime
