// What the gradients of several movements come down to: slices added up where an index says.
#pragma once

#include <cstdint>

#include "graph/gradients/context.h"

namespace hone::graph {

// Zeros of `extent` along `axis`, to which slice i of `rows` is added at indices[i] (any integer type, from -extent
// on). The axes of `indices`, `index_rank` of them, stand in `rows` where `axis` is in the result. The other
// extents are those of `rows`.
ValueId scattered_along(GradientContext& c, ValueId rows, int64_t axis, ValueId indices, int64_t index_rank,
                        int64_t extent);
// The same in the shape of `like`.
ValueId scattered_into(GradientContext& c, ValueId rows, int64_t axis, ValueId indices, int64_t index_rank,
                       ValueId like);

}  // namespace hone::graph
