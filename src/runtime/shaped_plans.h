// One node whose shapes are known only when it runs, on the provider's kernels all the same: for each set of
// shapes that it meets, a plan of this node alone, made at first sight and kept. Only where the work is worth
// it; the rest, and what depends on the data itself (NonZero), is the interpreter's.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "runtime/plan.h"
#include "runtime/provider.h"

namespace hone::runtime {

class ShapedPlans {
 public:
  // `provider` must outlive this.
  static Result<std::unique_ptr<ShapedPlans>> make(const graph::Graph& graph, const graph::Node& node,
                                                   const Provider& provider);

  // Inputs in the node's order, undefined where an optional one is absent.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);

 private:
  // For the inputs that `key` describes; no plan where the interpreter runs them.
  struct Shaped {
    std::string key;
    std::unique_ptr<Plan> plan;
  };

  ShapedPlans(const graph::Node& node, const Provider& provider) : node_(node), provider_(provider) {}
  const Shaped& shaped_for(std::span<const Tensor> inputs);
  std::unique_ptr<Plan> compile(std::span<const Tensor> inputs) const;

  graph::Node node_;
  const Provider& provider_;
  std::unique_ptr<graph::Graph> alone_;  // the node as a graph; constants of its graph are part of it
  std::vector<std::size_t> given_;       // inputs of the node that are inputs of `alone_`, in order
  std::list<Shaped> shaped_;             // latest first, kMostShapes at most
};

}  // namespace hone::runtime
