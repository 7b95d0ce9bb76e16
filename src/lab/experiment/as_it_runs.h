// Training steps hold operators that a device has no kernel for in the type of the recipe, gradients of attention in f32 on a GPU
// among them, which the host would compute for minutes; a pass that narrows them gives them one. Until it has, plans run what they
// are made of (passes/spell_out.h), while passes see the operators.
#pragma once

#include <set>
#include <string>

#include "core/dtype.h"
#include "core/result.h"
#include "graph/graph.h"
#include "passes/pass.h"

namespace hone::lab {

// The type of the lossy groups that bring products to one; kUndefined where none of them does.
DType narrow_type_of(const std::set<std::string>& lossy);

// `step` as plans run it: the same where it is no training step, or where all of it has kernels.
Result<graph::Graph> as_it_runs(const graph::Graph& step, const passes::PassContext& context);

}  // namespace hone::lab
