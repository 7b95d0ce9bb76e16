// What the operator table's entry of a plugin's operator calls: the plugin's own functions, whose answers are judged before
// anybody uses them.
#pragma once

#include "graph/op_table.h"

namespace hone::plugin {

// The plugin's types of the node's outputs. An error where they make no sense, and where the costs of a node of known
// extents make none.
Status infer_by_plugin(graph::InferContext& context);

// For operators that have cost().
double flops_by_plugin(const graph::CostContext& context);
void bytes_by_plugin(const graph::CostContext& context, graph::Cost& cost);

}  // namespace hone::plugin
