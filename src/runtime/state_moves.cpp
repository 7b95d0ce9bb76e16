#include "runtime/state_moves.h"

#include <algorithm>

namespace hone::runtime {

using graph::BufferAssignment;
using graph::Graph;
using graph::StatePair;
using graph::ValueId;

namespace {

bool touches(const Graph& graph, const BufferAssignment& buffers, const Section& section, ValueId value) {
  const ValueId root = buffers.place(value).root;
  const auto lies_there = [&](ValueId id) { return id.valid() && buffers.place(id).root == root; };
  for (uint32_t i = section.first; i <= section.last; ++i) {
    const graph::Node& node = graph.nodes()[i];
    if (std::any_of(node.inputs.begin(), node.inputs.end(), lies_there) ||
        std::any_of(node.outputs.begin(), node.outputs.end(), lies_there))
      return true;
  }
  return false;
}

bool in_one_lane(const Graph& graph, const BufferAssignment& buffers, const Section& section, ValueId state,
                 ValueId next) {
  if (!touches(graph, buffers, section, state) || !touches(graph, buffers, section, next)) return true;
  const auto lane = only_lane(graph, buffers, section, state);
  return lane && lane == only_lane(graph, buffers, section, next);
}

}  // namespace

void place_next_values(const Graph& graph, std::span<const Section> sections, BufferAssignment& buffers) {
  for (const StatePair& pair : graph.states()) {
    const bool safe = std::all_of(sections.begin(), sections.end(), [&](const Section& section) {
      return in_one_lane(graph, buffers, section, graph.state_input(pair), graph.next_value(pair));
    });
    if (safe) buffers.try_next_in_place(pair);
  }
}

StateMoves state_moves(const Graph& graph, const BufferAssignment& buffers) {
  StateMoves moves;
  for (uint32_t i = 0; i < graph.outputs().size(); ++i) {
    if (buffers.overwritten_at_end(buffers.place(graph.outputs()[i]).root)) moves.saved.push_back(i);
  }
  for (const StatePair& pair : graph.states()) {
    if (!buffers.next_in_place(pair)) moves.copied.push_back(pair);
  }
  return moves;
}

}  // namespace hone::runtime
