// The order in which the nodes of an ONNX graph can run. Files should list them so, but need not be believed.
#pragma once

#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/onnx/proto.h"

namespace hone::model::onnx {

// The node's name or, where it has none, its operator and first output; and that as errors show it.
std::string node_name(const NodeProto& node);
std::string node_label(const NodeProto& node);

// Whether the node is a Gradient of the training domain, whose attributes name values.
bool is_gradient(const NodeProto& node);

// What a node reads beyond its inputs: what its sub-graphs read from outside themselves, and the values that
// a Gradient names. In order of first use, each once.
std::vector<std::string_view> free_names(const NodeProto& node);

// Indices of `nodes` in topological order; among the nodes that can run, the one listed first comes first. An
// error for a value that two nodes produce, and for a cycle: it names the nodes on it. Names that no node
// produces are taken as given.
Result<std::vector<std::size_t>> node_order(const std::vector<NodeProto>& nodes);

}  // namespace hone::model::onnx
