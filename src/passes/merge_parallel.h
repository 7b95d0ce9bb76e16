// Computes products and convolutions of the same input as one: the weights side by side, and a Split of the
// result (horizontal fusion: the projections of attention, branches of an inception block).
// Why: the input is read once, and one large product keeps the cores busier than several small ones. It pays
// only where no part of the result has to be copied out: parts that lie one after another in memory anyway,
// and operands of attention, which reads them as parts of wider rows (fuse_attention). Why here: attention is
// recognised, scales and normalisations are folded in, so that what follows each product is what will.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Pointwise operators behind the products that are the same but for constants a column are merged with them.
Result<PassOutcome> merge_parallel(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
