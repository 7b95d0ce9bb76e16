// A reference kernel as a plan's kernel: for operators that a provider has no kernel of its own for. Correct,
// slow, and it allocates; its implementation says "reference", so that the report shows where it runs.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "runtime/provider.h"

namespace hone::runtime {

// A node through the interpreter, on memory that the host can reach. Types must be static.
class ReferenceNode {
 public:
  // Whether all layouts are plain: the reference knows no other.
  static bool can_run(const graph::Graph& graph, const graph::Node& node);
  ReferenceNode(const graph::Graph& graph, const graph::Node& node);
  Status run(const KernelArguments& arguments) const;

 private:
  graph::Node node_;
  std::vector<graph::TensorType> inputs_;
  std::vector<graph::TensorType> outputs_;
};

// The candidate that runs it on the host. Keeps all that it needs of `graph`.
Candidate reference_candidate(const graph::Graph& graph, const graph::Node& node);

}  // namespace hone::runtime
