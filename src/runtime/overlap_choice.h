// Chooses what a plan runs side by side: times its nodes in a team and in a lane, lets overlap.h find
// sections, and measures each of those both ways: its nodes one after another on all threads, and in lanes.
// On a plan of these nodes alone, on made-up data, in turns.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "runtime/autotune.h"
#include "runtime/overlap.h"
#include "runtime/plan.h"
#include "runtime/provider.h"

namespace hone::runtime {

struct OverlapChoice {
  Section section;
  std::string why;          // "side by side 41.0 µs, one after another 60.2 µs"
  double microseconds = 0;  // side by side, where it was measured
};

// The sections that options.choices names, where it is given; otherwise the sections that are faster in lanes by more than a few percent; all that there can be where
// options.overlap says so. options.cache must be given, and remembers the trials by the nodes' signatures and
// how they are connected.
Result<std::vector<OverlapChoice>> choose_overlap(const graph::Graph& graph,
                                                  const graph::BufferAssignment& buffers,
                                                  const Provider& provider, const PlanOptions& options);

// The nodes of a section as a graph: its outputs are what is read outside, or an output of `graph`.
Result<graph::Graph> graph_of_section(const graph::Graph& graph, const Section& section);

}  // namespace hone::runtime
