#include "graph/plan_choices.h"

#include <algorithm>

#include <fmt/core.h>

#include "graph/buffer_assignment.h"

namespace hone::graph {
namespace {

constexpr uint32_t kNoLane = UINT32_MAX;

Status check_kernels(const Graph& graph, const BufferAssignment& buffers, const PlanChoices& choices) {
  auto next = choices.kernels.begin();
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (buffers.elided(NodeId{i})) continue;
    if (next == choices.kernels.end() || next->node != NodeId{i})
      return corrupt(fmt::format("node '{}' has no kernel chosen", graph.nodes()[i].name));
    if (!next->bodies.empty() && next->bodies.size() != graph.nodes()[i].bodies.size())
      return corrupt(fmt::format("node '{}' has choices for {} bodies, not for its {}", graph.nodes()[i].name,
                                 next->bodies.size(), graph.nodes()[i].bodies.size()));
    ++next;
  }
  if (next != choices.kernels.end()) return corrupt("kernels are chosen for nodes that need none");
  return {};
}

// The lane of each node of a section; kNoLane for one without.
Result<std::vector<uint32_t>> lanes_of(const LaneChoice& section) {
  std::vector<uint32_t> lane_of(section.last - section.first + 1, kNoLane);
  for (uint32_t lane = 0; lane < section.lanes.size(); ++lane) {
    if (section.lanes[lane].empty()) return corrupt("a lane has no nodes");
    for (const NodeId node : section.lanes[lane]) {
      if (node.index < section.first || node.index > section.last)
        return corrupt("a lane has a node of elsewhere");
      uint32_t& own = lane_of[node.index - section.first];
      if (own != kNoLane) return corrupt("a node stands in two lanes");
      own = lane;
    }
    if (!std::is_sorted(section.lanes[lane].begin(), section.lanes[lane].end(),
                        [](NodeId a, NodeId b) { return a.index < b.index; }))
      return corrupt("a lane's nodes are not in their order");
  }
  return lane_of;
}

// An elided node belongs to the lane that it reads from: what it gives is that lane's memory.
Status check_section(const Graph& graph, const BufferAssignment& buffers, const LaneChoice& section) {
  if (section.lanes.size() < 2) return corrupt("fewer than two lanes side by side");
  HONE_ASSIGN(std::vector<uint32_t> lane_of, lanes_of(section));
  for (uint32_t i = section.first; i <= section.last; ++i) {
    uint32_t& own = lane_of[i - section.first];
    const bool elided = buffers.elided(NodeId{i});
    if (elided != (own == kNoLane)) return corrupt("a node stands in no lane, or needs none");
    for (const ValueId input : graph.nodes()[i].inputs) {
      const NodeId producer = input.valid() ? graph.value(input).producer : NodeId{};
      if (!producer.valid() || producer.index < section.first || producer.index >= i) continue;
      const uint32_t theirs = lane_of[producer.index - section.first];
      if (theirs == kNoLane) continue;
      if (own == kNoLane) own = theirs;
      if (own != theirs)
        return corrupt(fmt::format("node '{}' waits for another lane", graph.nodes()[i].name));
    }
  }
  return {};
}

}  // namespace

Status check_choices(const Graph& graph, const PlanChoices& choices) {
  const BufferAssignment buffers(graph);
  HONE_CHECK(check_kernels(graph, buffers, choices));
  uint32_t free_from = 0;
  for (const LaneChoice& section : choices.sections) {
    if (section.first < free_from || section.last < section.first || section.last >= graph.nodes().size())
      return corrupt("sections of nodes side by side overlap, or lie outside of the graph");
    free_from = section.last + 1;
    if (Status status = check_section(graph, buffers, section); !status.ok())
      return status.error().within(fmt::format("nodes {} to {}", section.first, section.last));
  }
  return {};
}

}  // namespace hone::graph
