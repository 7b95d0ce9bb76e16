// Graph → GraphProto, as bytes of protobuf, everything but the main graph's weights. Internal to the writer.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::model::onnx {

struct MainGraph {
  std::string bytes;  // fields of the GraphProto: all but the initializers
  std::vector<std::pair<std::string, const Tensor*>> initializers;
};

// `graph` is expanded (expand.h). Pointers lead into it.
Result<MainGraph> write_main_graph(const graph::Graph& graph);

}  // namespace hone::model::onnx
