// Operators side by side: which stretches of a graph hold work that does not depend on each other, and
// whether one thread for each part should be faster than all threads for one operator after another. Decides
// from the operators' times; overlap_choice.h measures them and tries what was decided, plan.h runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "graph/buffer_assignment.h"
#include "graph/graph.h"
#include "runtime/memory_plan.h"

namespace hone::runtime {

// Nodes [first, last] in the graph's order, of which no lane's read what another lane's write. Lanes run at
// once, one thread each, every lane its own nodes in order.
struct Section {
  uint32_t first = 0;
  uint32_t last = 0;
  std::vector<std::vector<graph::NodeId>> lanes;  // two or more, none empty; without elided nodes

  bool holds(graph::NodeId node) const { return first <= node.index && node.index <= last; }
};

// What one run of a node takes: on all threads, and on one. Both 0 for an elided node; `lane_us` infinite for
// a node that cannot run in a lane.
struct NodeTime {
  double team_us = 0;
  double lane_us = 0;
};

// Says of each node whether it stands near one that it does not depend on: only these need times.
std::vector<bool> nodes_with_company(const graph::Graph& graph, const graph::BufferAssignment& buffers);

// The sections that make the sum of times least, where each costs `section_us` beyond its longest lane
// (starting and joining the threads). Disjoint, in order; none that the times say gains less than a few
// percent.
std::vector<Section> choose_sections(const graph::Graph& graph, const graph::BufferAssignment& buffers,
                                     std::span<const NodeTime> times, int lanes, double section_us);

// The lane of `section` whose nodes alone, of all its lanes, read or write the buffer that `value` lies in.
// None if several do: such a buffer must not be written in place, for the order of the lanes is not known.
std::optional<std::size_t> only_lane(const graph::Graph& graph, const graph::BufferAssignment& buffers,
                                     const Section& section, graph::ValueId value);

// Makes the lifetime of a buffer, given by the first and last node that touch it, right for `sections`: which
// of their nodes runs first is not known, so it lives as long as each section that it touches. `owner` says,
// given a section, which lane alone touches it.
void widen(Lifetime& lifetime, std::span<const Section> sections,
           const std::function<std::optional<std::size_t>(const Section&)>& owner);

}  // namespace hone::runtime
