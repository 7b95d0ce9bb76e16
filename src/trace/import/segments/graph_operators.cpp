#include "trace/import/segments/graph_operators.h"

#include <algorithm>
#include <tuple>

namespace hone::trace::segments {

void GraphOperators::add_operator(const Range& range, uint64_t external) {
  operators_[range.tid].push_back({range.start_ns, range.end_ns, external});
}

void GraphOperators::join() {
  std::map<int64_t, std::vector<std::pair<int64_t, uint64_t>>> made;  // by thread: when, which node
  for (const auto& [id, node] : nodes_) made[node.tid].emplace_back(node.time_ns, id);
  for (auto& [tid, moments] : made) {
    std::sort(moments.begin(), moments.end());
    std::vector<OpenOperator>& operators = operators_[tid];
    std::sort(operators.begin(), operators.end(), [](const OpenOperator& a, const OpenOperator& b) {
      return std::tuple(a.start_ns, b.end_ns) < std::tuple(b.start_ns, a.end_ns);
    });
    std::vector<const OpenOperator*> open;  // operators of a thread nest
    auto next = operators.begin();
    for (const auto& [time_ns, node] : moments) {
      for (; next != operators.end() && next->start_ns <= time_ns; ++next) {
        while (!open.empty() && open.back()->end_ns <= next->start_ns) open.pop_back();
        open.push_back(&*next);
      }
      while (!open.empty() && open.back()->end_ns <= time_ns) open.pop_back();
      if (!open.empty()) externals_[node] = open.back()->external;
    }
  }
}

// A clone is made when the graph is instantiated, by whoever does that: what it is a clone of was captured.
uint64_t GraphOperators::external_of(uint64_t node) const {
  constexpr int kMostClones = 16;  // of clones; a ring of damaged records must end
  uint64_t external = 0;
  for (int i = 0; i < kMostClones && node != 0; ++i) {
    if (const auto known = externals_.find(node); known != externals_.end()) external = known->second;
    const auto at = nodes_.find(node);
    node = at == nodes_.end() ? 0 : at->second.original;
  }
  return external;
}

}  // namespace hone::trace::segments
