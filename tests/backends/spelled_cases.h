// Small graphs of one operator each that has no kernel on a GPU and can be spelled out, of every attribute that it has and of odd
// extents.
#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace hone::backends {

struct SpelledCase {
  const char* name;
  const char* inputs;          // "%x: f32[2,3], %p: i64[3]"
  const char* call;            // "LRN(%x) {size = 3}"
  const char* constants = "";  // lines of the graph
  int outputs = 1;             // all of the first input's element type
  // Integer inputs: element i is (i · step + 1) % limit.
  int64_t step = 3, limit = 7;
  double low = -1, high = 1;  // of floats
};

std::vector<SpelledCase> spelled_cases();
graph::Graph graph_of(const SpelledCase& test);
std::vector<Tensor> inputs_of(const SpelledCase& test, const graph::Graph& graph);

}  // namespace hone::backends
