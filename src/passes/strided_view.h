// Where the elements of a value lie in the memory of an ancestor that it is only a view of: reshapes,
// transposes, splits, slices, gathers of one index and expands, composed into an offset and strides. For
// passes that look through the shuffling around heads of attention.
#pragma once

#include <optional>
#include <vector>

#include "passes/rewrite.h"

namespace hone::passes {

// One run of equally spaced elements. A logical axis may need several, outermost first, after a merge.
struct StridePart {
  int64_t extent = 1;
  int64_t stride = 0;
  friend bool operator==(const StridePart&, const StridePart&) = default;
};
// Canonical: no part of extent 1, no two parts that one could express.
using StrideAxis = std::vector<StridePart>;

int64_t extent_of(const StrideAxis& axis);

struct StridedView {
  ValueId source;  // dense and row-major
  int64_t offset = 0;
  std::vector<StrideAxis> axes;  // of the value
};

// The axes of a dense row-major tensor.
std::vector<StrideAxis> dense_axes(std::span<const int64_t> shape);
StrideAxis canonical(StrideAxis axis);
// The same elements under another shape of the same size; nullopt where an extent would cut a part unevenly.
std::optional<std::vector<StrideAxis>> regroup(const std::vector<StrideAxis>& axes,
                                               std::span<const int64_t> shape);

// `value` as a view of itself, of what it is a view of, and so on: nearest ancestor first. Empty if its type
// is not static.
std::vector<StridedView> views_of(const GraphBuilder& builder, ValueId value);

// The axes of a node's output, given those of its first input; nullopt if it is no view.
std::optional<StridedView> apply_view(const GraphBuilder& builder, const Node& node, std::size_t output,
                                      StridedView view);

}  // namespace hone::passes
