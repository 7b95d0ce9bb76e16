// Writes graphs as ONNX models that other runtimes load: groups (hone.Fused) become their operators again,
// sub-graphs read outer values by name, layouts disappear, states become metadata. Reading the file back
// gives an equivalent graph.
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
  // Write hone's own operators (optimizers, random streams, fences) as they are, in domain "hone", for hone
  // to read again. Otherwise the first one that means something is an error, and fences are left out.
  bool own_operators = false;
};

// The file appears whole or not at all. An error names the node that ONNX cannot express.
Status write_onnx(const graph::Graph& graph, const std::filesystem::path& path,
                  const WriteOptions& options = {});

}  // namespace hone::model
