// Writes graphs as ONNX models that other runtimes load: groups (hone.Fused) become their operators again,
// sub-graphs read outer values by name, layouts disappear. Reading the file back gives an equivalent graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::model {

struct WriteOptions {
  // Operator set to state; 0: 21, or the oldest newer one that has every operator and element type in the
  // graph.
  int64_t opset = 0;
  // Where weights go: into the model's file, or into "<file>.data" beside it. Automatic: beside it only where
  // the model would come near protobuf's limit of 2 GB.
  enum class Weights : uint8_t { kAutomatic, kInside, kBeside } weights = Weights::kAutomatic;
};

// The file appears whole or not at all. An error names the node that ONNX cannot express.
Status write_onnx(const graph::Graph& graph, const std::filesystem::path& path,
                  const WriteOptions& options = {});

}  // namespace hone::model
