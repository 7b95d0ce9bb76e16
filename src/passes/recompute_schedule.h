// The nodes of a graph in their order, as recompute() moves them about: what is alive when, and what changes where a value is
// dropped and made again. Light copies of nodes, values and buffers by number; the graph itself is only read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/buffer_assignment.h"
#include "graph/graph.h"
#include "passes/recompute_copy.h"

namespace hone::passes {

struct ScheduledNode {
  graph::NodeId source;
  bool copy = false;
  bool dead = false;                      // nothing reads it any more: its copy is what runs
  bool elided = false;                    // its outputs are names for what its inputs are: nothing runs
  std::vector<uint32_t> inputs, outputs;  // values, in the places that they have in the source
  std::ptrdiff_t scratch = 0;
};

// Bytes alive at each node.
struct Profile {
  std::ptrdiff_t most = 0;
  std::size_t peak = 0;  // the first node where it is most
  double excess = 0;     // bytes over a limit, summed over the graph's own nodes: more of them are no excess
};

// Values to be dropped, and the nodes that make them again.
struct Drop {
  struct Again {
    uint32_t node = 0;         // of Schedule, which is run again
    std::vector<bool> wanted;  // its outputs
  };
  std::vector<uint32_t> buffers;
  std::size_t place = 0;  // where the copies go: before the node that stands there
  std::vector<Again> copies;
  std::ptrdiff_t bytes = 0;
  double work = 0;  // FLOPs and bytes, in FLOPs
};

// What undo() needs.
struct Applied {
  struct Read {
    uint32_t node = 0;
    uint32_t input = 0;
    uint32_t before = 0;
  };
  std::size_t place = 0;
  std::size_t copies = 0;
  std::size_t values = 0, buffers = 0;  // that there were
  std::vector<Read> redirected;
  std::vector<std::pair<uint32_t, uint32_t>>
      moved;  // values that lie in another buffer, and their buffers before
  std::vector<uint32_t> died;
};

class Schedule {
 public:
  // `graph` outlives it.
  Schedule(const graph::Graph& graph, const std::map<std::string, std::size_t, std::less<>>& scratch);

  std::size_t size() const { return order_.size(); }
  std::size_t value_count() const { return buffer_of_.size(); }
  std::vector<ScheduledNode> nodes() const;  // in order, the dead left out

  Profile profile(std::ptrdiff_t limit);
  // By the last profile(): buffers of at least `least` bytes that are alive at the node in place `at` which does not touch
  // them, and that are read later; together where one node made them.
  std::vector<std::vector<uint32_t>> idle_at(std::size_t at, std::ptrdiff_t least) const;
  // What it takes to make them again for those that read them behind `at`; nullopt where that cannot be done.
  std::optional<Drop> plan_drop(const std::vector<uint32_t>& buffers, std::size_t at) const;
  Applied apply(const Drop& drop);
  void undo(const Applied& applied);

 private:
  struct Buffer {
    std::ptrdiff_t bytes = 0;
    bool pinned = false;  // of the graph's inputs, outputs and constants: always there
    uint32_t like = 0;    // the graph's buffer that it is another one of
  };
  struct Touch {
    std::size_t place = 0;
    uint32_t node = 0;
    bool writes = false;
  };
  class DropPlanner;

  void add_node(graph::NodeId id, std::size_t scratch, bool elided);
  void find_touches();
  std::ptrdiff_t saved_in_place(std::size_t place) const;
  void count_reads(const ScheduledNode& node, int change);
  void redirect(std::size_t place, const std::unordered_map<uint32_t, uint32_t>& values,
                const std::unordered_map<uint32_t, uint32_t>& buffers, Applied& applied);
  void bury(uint32_t node, Applied& applied);
  bool unread(const ScheduledNode& node) const;

  const graph::Graph& graph_;
  std::vector<ScheduledNode> nodes_;
  std::vector<uint32_t> order_;      // of nodes_
  std::vector<uint32_t> buffer_of_;  // of each value
  std::vector<uint32_t> producer_;   // of each value: a node; kNoScheduled: none
  std::vector<uint32_t> reads_;  // of each value: by nodes that live, and by who is given the graph's outputs
  std::vector<Buffer> buffers_;
  std::vector<double> work_;      // of each node of the graph
  std::vector<bool> in_place_;    // of each node of the graph: whether its kernel writes over operands
  std::vector<bool> runs_again_;  // of each node of the graph: whether it can
  // Of the buffers of states: the node that makes the next value, which may be written over the state by then.
  std::map<uint32_t, uint32_t> overwritten_by_;
  std::ptrdiff_t always_ = 0;  // bytes of what is pinned

  // By find_touches():
  std::vector<std::vector<Touch>> touches_;  // of each buffer, in order
  std::vector<std::size_t> place_of_;        // of each node
};

}  // namespace hone::passes
