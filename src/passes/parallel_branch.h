// One of several products of the same input: the product with its constant weights and the pointwise
// operators behind it that its kernel applies. Says which branches compute the same of different columns;
// putting them together is merge_parallel's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/rewrite.h"

namespace hone::passes {

// What an input of a step is, seen from the merged branch.
struct BranchOperand {
  enum class Kind {
    kAbsent,
    kFlow,    // what the branch computes: the common input, then the step before
    kShared,  // a constant that must be the same in all branches
    kJoined,  // a constant with one slice a column: joined along `axis`
  };
  Kind kind = Kind::kAbsent;
  int64_t axis = 0;
  friend bool operator==(const BranchOperand&, const BranchOperand&) = default;
};

struct BranchStep {
  NodeId node;
  std::vector<BranchOperand> operands;  // one an input
};

struct ParallelBranch {
  std::vector<BranchStep> steps;  // the product first
  ValueId result;
  int64_t width = 0;     // columns of a matrix product, channels of a convolution
  int64_t axis = 0;      // where they are in the result
  std::string bound_by;  // the operator behind it that is computed with it but cannot move; empty: none

  NodeId product() const { return steps[0].node; }
};

// The branch that begins with `product`; nullopt if that is no product of a computed and a constant f32
// factor.
std::optional<ParallelBranch> read_branch(const GraphBuilder& builder, NodeId product);

// Whether the first `steps` steps of both compute the same but for their columns.
bool same_form(const GraphBuilder& builder, const ParallelBranch& a, const ParallelBranch& b,
               std::size_t steps);

// The parts one after another along `axis`; extents along the others agree.
Tensor join(const std::vector<const Tensor*>& parts, int64_t axis);

}  // namespace hone::passes
