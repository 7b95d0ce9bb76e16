// Reading the files of test_model.h, for tests. Not part of the product.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "graph/verify.h"
#include "model/onnx/reader.h"
#include "model/onnx/test_model.h"

namespace hone::model::testing {

// Throws what the reader or the verifier says against it.
inline graph::Graph read_valid(const std::string& bytes, const ReadOptions& options = {}) {
  auto graph = read_onnx_bytes(bytes, options);
  if (!graph.ok()) throw std::runtime_error(graph.error().message);
  if (const Status valid = graph::verify(*graph); !valid.ok())
    throw std::runtime_error(valid.error().message);
  return *std::move(graph);
}

inline std::string error_of(const std::string& bytes) {
  const auto graph = read_onnx_bytes(bytes);
  return graph.ok() ? "accepted" : graph.error().message;
}

inline std::string error_of(const TestGraph& graph) { return error_of(model(graph)); }

// The operators of the nodes, in order.
inline std::vector<std::string> ops(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes()) names.push_back(node.op);
  return names;
}

}  // namespace hone::model::testing
