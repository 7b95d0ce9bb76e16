// A graph as frontends build it, from one that passes have lowered: what ONNX can say.
#pragma once

#include "core/result.h"
#include "graph/graph.h"

namespace hone::model::onnx {

// The same graph without hone.Fused (its body's operators stand in its place) and hone.Reorder (every value
// is plain) and hone.CopyTo (every value lies on device 0), in sub-graphs, too. Unless `keep_own`, without
// hone.Recompute, and random numbers of a known seed are drawn by ONNX's operators. Masks of Attention have a
// row for each query. Names of inputs and outputs and the states stay, but for
// a value that is given out twice, which ONNX gives two names. An error for constants that lie in
// another layout than plain.
Result<graph::Graph> expand_groups(const graph::Graph& graph, bool keep_own = false);

}  // namespace hone::model::onnx
