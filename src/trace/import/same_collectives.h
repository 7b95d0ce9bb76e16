// Whether two recordings are of ranks that ran the same collectives together, whatever their clocks say: a
// collective ends on all ranks at once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/trace.h"

namespace hone::trace {

struct CollectiveEnd {
  double end_ns = 0;
  std::string_view name;
  DType dtype = DType::kUndefined;
  double elements = 0;

  bool is_like(const CollectiveEnd& other) const {
    return name == other.name && dtype == other.dtype && elements == other.elements;
  }
};

// The reductions and gatherings of one rank in order of their ends, by the name and members of their group.
using CollectiveEnds = std::map<std::pair<std::string, std::vector<int>>, std::vector<CollectiveEnd>>;

// The collectives of a trace of one rank; the result refers to its texts. O(n log n): it sorts them.
CollectiveEnds collective_ends(const Trace& trace);

// True only where many collectives of a group that both ranks are in have the same kinds and sizes in the
// same order, and their ends are the same time apart by less than two runs of one program keep step. A pass
// over the collectives and a sort of their distances, O(n log n), for each of a fixed number of ways in which
// one recording may begin before the other.
bool same_collectives(const CollectiveEnds& a, const CollectiveEnds& b);

}  // namespace hone::trace
