// Reverse-mode differentiation: the gradient of a value as ordinary nodes behind the nodes that compute it.
// The local rules are fields of the operator table (gradients/); here is the walk. It is no pass, because
// frontends expand with it what a model differentiates itself.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "graph/builder.h"

namespace hone::graph {

struct DifferentiateOptions {
  // The gradient that flows into y, of y's type. Absent: ones, so that the result is the gradient of the sum
  // of y's elements.
  ValueId seed = kNoValue;
  // New nodes stand for these names, and for what the node stands for whose gradient they compute.
  std::vector<std::string> provenance = {};
  std::size_t most_nodes = std::numeric_limits<std::size_t>::max();  // that may be added
  NodeId* refused = nullptr;  // where it is given: set to the node whose gradient is an error
  bool zeros = true;          // for an x that no gradient reaches; false: kNoValue
};

// Adds the gradient of `y` with respect to each of `xs`, in that order and of their types; for a value
// that y does not depend on, or only by integers, what `zeros` says. An x may be an input, a constant or any value between. Contributions to one
// value are summed in a fixed order. y and xs must be floating-point; "unsupported: the gradient of
// <operator>" where an operator on the way has no rule. Nodes already there stay as they are.
Result<std::vector<ValueId>> differentiate(GraphBuilder& builder, ValueId y, std::span<const ValueId> xs,
                                           const DifferentiateOptions& options = {});

// For rules: the gradient of several ys, each with the seed that flows into it, with respect to xs. Between the
// ys and `bounds`, of which all xs are, nothing but what belongs to the ys is looked at. kNoValue for an x that
// no y depends on.
Result<std::vector<ValueId>> differentiate_within(GraphBuilder& builder, std::span<const ValueId> ys,
                                                  std::span<const ValueId> seeds,
                                                  std::span<const ValueId> bounds,
                                                  std::span<const ValueId> xs,
                                                  const DifferentiateOptions& options = {});

// `value` computed anew as if each key of `replacements` were its mapped value: the nodes between are added
// again. `value` itself where it depends on no key.
Result<ValueId> substitute(GraphBuilder& builder, ValueId value,
                           const std::unordered_map<ValueId, ValueId>& replacements,
                           const DifferentiateOptions& options = {});

}  // namespace hone::graph
