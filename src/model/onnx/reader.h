// Reads ONNX models into graphs: operators in their canonical form (graph::kCanonicalOpset, upgrade/), local
// functions inlined, sub-graphs closed, types inferred. Weights are not copied where the file holds them
// aligned: the graph keeps the file mapped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "graph/custom_operator.h"
#include "graph/graph.h"

namespace hone::model {

struct ReadOptions {
  // Extents that symbols of the inputs stand for ("batch" → 8).
  std::map<std::string, int64_t> symbols = {};
  // Whole shapes of inputs; symbols in them become bound, too.
  std::map<std::string, Shape> input_shapes = {};
  // The extent of input symbols not bound above; 0 leaves them symbolic.
  int64_t default_symbol = 0;
  // Told each symbol that got the default extent; may be empty.
  std::function<void(const std::string& symbol)> on_default = {};
  // Operators of plugins (plugin/plugin.h), which come before the model's own functions of the same name.
  graph::CustomOperators operators = {};
};

// Errors start with the file's name and name the node, what is wrong and what to do. Code kUnsupported with
// "unsupported: <operator>" for valid models that hone cannot represent.
Result<graph::Graph> read_onnx(const std::filesystem::path& path, const ReadOptions& options = {});

// The same from memory, which may be freed afterwards. External data is an error.
Result<graph::Graph> read_onnx_bytes(std::string_view bytes, const ReadOptions& options = {});

}  // namespace hone::model
