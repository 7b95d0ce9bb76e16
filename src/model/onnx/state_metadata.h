// Which output is the next value of which input, in ONNX's metadata_props: ONNX's own graphs do not say it.
// One entry a pair: key "hone.state:<input>", value "<output>". Other programs carry the entries along
// without reading them; one that renames or drops an input or output makes them wrong, which reading tells.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "graph/builder.h"
#include "model/onnx/proto.h"

namespace hone::model::onnx {

// Key and value for each pair of `graph`, in order.
std::vector<std::pair<std::string, std::string>> state_metadata(const graph::Graph& graph);

// Pairs what the entries of `model` name. `builder` has the main graph's inputs and its outputs, in order. An
// error names the entry, and what no longer fits it.
Status read_states(const ModelProto& model, graph::GraphBuilder& builder);

}  // namespace hone::model::onnx
