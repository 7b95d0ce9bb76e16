// What the integers of an input may be, where its readers tell: rows of a table, images of a batch.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/graph.h"

namespace hone::lab {

// The first number after the largest that `input` may hold, by whoever reads it as indices, at once or in another shape or
// integer type: Gather and GatherElements, the positions of RotaryEmbedding, the batch indices of RoiAlign. nullopt where
// none does, or what is indexed has an extent that is open.
std::optional<int64_t> index_limit_of(const graph::Graph& graph, graph::ValueId input);

}  // namespace hone::lab
