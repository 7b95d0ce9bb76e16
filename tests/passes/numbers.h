// Whether a rewritten graph computes what the graph before it did.
#pragma once

#include <string>

#include "graph/graph.h"
#include "runtime/provider.h"

namespace hone::testing_support {

// A graph from the text form without its name: "(%x: f32[2]) { … return %y }". Throws std::logic_error.
graph::Graph graph_from(const std::string& text);

// How near results must be: |a − b| ≤ tolerance · (1 + |b|) for each element; 0 means bit for bit.
struct Agreement {
  double interpreted = 0;
  double planned = 0;
};

// Both graphs get the same random inputs (small integers where the type is half, so that sums of a few products
// are exact there). `before` is interpreted; `after` is interpreted, and run as a plan of `provider`.
void expect_same_numbers(const graph::Graph& before, const graph::Graph& after,
                         const runtime::Provider& provider, Agreement wanted);

}  // namespace hone::testing_support
