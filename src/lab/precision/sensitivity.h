// What each operator that a pass moved to a narrow type costs in numbers: alone, in the model as it now is, and whether
// what it computes leaves the type's range. Two interpretations side by side, of the graph before the pass and of the one
// after it, which keeps the names of nodes; values live no longer than somebody still compares them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::lab {

// Of one operator; errors are ‖result − reference‖ / ‖reference‖ over its floating-point results, infinite where a result
// is NaN or infinite that the reference has as a number.
struct OperatorError {
  double alone = 0;    // on the reference's inputs, rounded to the types that it reads
  double carried = 0;  // on what the operators before it gave
  double largest = 0;  // finite magnitude among what it reads and gives, in the reference
  int64_t not_finite =
      0;  // results of the whole narrowed model that are NaN or infinite, where the reference's are not
};

struct Sensitivity {
  std::map<std::string, OperatorError, std::less<>> operators;  // by the name of the node
  std::string first_not_finite;  // the first operator with such results; empty for none
  std::vector<Tensor> outputs;   // of the narrowed graph
};

// What the graph before the pass gave of operators, kept for another measurement on the same inputs, which then need not run
// that graph again. As much as fits: what is not kept is computed.
struct ReferenceResults {
  struct Of {
    std::vector<Tensor> results;
    double largest = 0;
  };
  std::map<std::string, Of, std::less<>> operators;
  std::size_t bytes = 0;
  std::size_t most_bytes = 0;
};

struct SensitivityOptions {
  std::set<std::string, std::less<>> alone;  // nodes whose error alone is wanted; it takes a run of the node
  std::function<bool()> keep_going = {};     // asked at every node; false cancels
  ReferenceResults* kept = nullptr;          // of this graph and these inputs
};

// `narrowed`: names of nodes of both graphs. Errors: a node cannot be interpreted, cancelled.
Result<Sensitivity> measure_sensitivity(const graph::Graph& before, const graph::Graph& after,
                                        std::span<const Tensor> inputs,
                                        const std::set<std::string, std::less<>>& narrowed,
                                        const SensitivityOptions& options);

}  // namespace hone::lab
