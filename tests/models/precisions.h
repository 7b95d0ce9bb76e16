// The zoo's models as exporters write them in other precisions.
#pragma once

#include <span>

#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::testing_support {

// Every f32 of the graph, inputs and outputs included, in a half type.
graph::Graph in_half(const graph::Graph& graph, DType half);

// QDQ: weights of convolutions and products in i8 (a scale an output channel), what they read and give in u8,
// by the ranges that `inputs` show. The graph's types must be static.
graph::Graph quantised(const graph::Graph& graph, std::span<const Tensor> inputs);

}  // namespace hone::testing_support
