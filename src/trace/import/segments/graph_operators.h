// Kernels that a CUDA graph replays belong to the operator that was open when they were captured: the replay is one call
// of the host for all of them.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "trace/segments/record.h"

namespace hone::trace::segments {

class GraphOperators {
 public:
  // `external` is the number by which kernels name the operator (Call::external).
  void add_operator(const Range& range, uint64_t external);
  // CUPTI tells of a clone twice: as a node that is made, and then of what it is a clone.
  void add_node(const GraphNode& node) {
    const auto [known, added] = nodes_.try_emplace(node.node, node);
    if (!added && node.original != 0) known->second = node;
  }
  bool any_nodes() const { return !nodes_.empty(); }

  // Once all are added. O((operators + nodes) log).
  void join();
  // Of a node, or of the one that it is a clone of; 0: none was open, or nobody saw the node made.
  uint64_t external_of(uint64_t node) const;

 private:
  struct OpenOperator {
    int64_t start_ns = 0, end_ns = 0;
    uint64_t external = 0;
  };
  std::map<int64_t, std::vector<OpenOperator>> operators_;  // by thread
  std::unordered_map<uint64_t, GraphNode> nodes_;
  std::unordered_map<uint64_t, uint64_t> externals_;  // by node that was captured
};

}  // namespace hone::trace::segments
