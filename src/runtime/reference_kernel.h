// A reference kernel as a plan's kernel: for operators that a provider has no kernel of its own for. Correct and
// slow; its implementation says "reference", so that the report shows where it runs. What it allocates comes
// from its queue's heap (HostQueue::heap()): nothing of the system's after the first run.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "runtime/provider.h"

namespace hone::runtime {

// A node through the interpreter, on memory that the host can reach. Types must be static. Keeps all that it
// needs of `graph`; several threads may run one at once.
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

// The candidate that runs it on the host, on queues that are a HostQueue. Keeps all that it needs of `graph`.
Candidate reference_candidate(const graph::Graph& graph, const graph::Node& node);

}  // namespace hone::runtime
