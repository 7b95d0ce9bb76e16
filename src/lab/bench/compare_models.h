// Two models on this machine: which is faster, by how much, how sure, and whether they compute the same.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "lab/bench/bench.h"
#include "lab/gate/numeric.h"
#include "lab/gate/paired.h"

namespace hone::lab {

struct ModelComparison {
  PairedResult paired;  // a ratio above 1: B is faster
  Latency a, b;         // over the paired measurement's slots
  // Compares the outputs that both have by name and type, given the same inputs; none: why they cannot be.
  NumericReport numbers;
  std::string why_not_compared;
};

// Both optimised and compiled, each several times (gate/instances.h); inputs that both have by name and type
// get the same data. Of `options`, what belongs to one plan and to measuring counts (threads, budget, passes,
// seed, cache, progress).
Result<ModelComparison> compare_models(const graph::Graph& a, const graph::Graph& b,
                                       const BenchOptions& options);

}  // namespace hone::lab
