// The strided copies that a movement operator is, read from its node once for all providers: Transpose, Concat, Split,
// Slice, Expand, Tile, DepthToSpace, SpaceToDepth, reorders between layouts, and views that could not be aliased.
#pragma once

#include <optional>
#include <vector>

#include "kernels/movement/copies.h"
#include "runtime/lower/lower.h"

namespace hone::runtime {

// From input number `input` of the node to its output number `output`. Steps are of elements of the node's first input.
struct NodeCopy {
  kernels::StridedCopyDesc desc;
  std::size_t input = 0;
  std::size_t output = 0;
};

struct NodeCopies {
  std::vector<NodeCopy>
      copies;  // of at least one element each; they write each output's elements once, all of them
  std::vector<std::size_t> unread;  // inputs that are known parameters
};

// nullopt: another operator, parameters that are computed, or elements of no size. Padded channels of a blocked output
// are left as they are.
std::optional<NodeCopies> copies_of_node(const LowerContext& context);

// Inputs after the first, for operators whose other inputs are known parameters.
std::vector<std::size_t> parameter_inputs(const LowerContext& context);

}  // namespace hone::runtime
