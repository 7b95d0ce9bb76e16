// How a plan keeps state between runs: next values lie where their states lie wherever that is safe, and what
// remains is copied when a step ends. Decides only; plan.h does it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/buffer_assignment.h"
#include "graph/graph.h"
#include "runtime/overlap.h"

namespace hone::runtime {

// Lets next values be computed into their states' buffers where no node reads the state any more by then. In
// a section that touches both, one lane alone must: the order between lanes is not known.
void place_next_values(const graph::Graph& graph, std::span<const Section> sections,
                       graph::BufferAssignment& buffers);

// What happens behind the last node, in two rounds: first every output that lies in a state which the second
// round overwrites is saved in memory of its own; then next values are copied to their states, those among
// the saved from there. So states may change places, and a caller may be given a state's old value.
struct StateMoves {
  std::vector<uint32_t> saved;           // positions of outputs
  std::vector<graph::StatePair> copied;  // pairs that are not in place
};
StateMoves state_moves(const graph::Graph& graph, const graph::BufferAssignment& buffers);

}  // namespace hone::runtime
