// Computes in f32 what a model computes in f16 or bf16, where the target's products have no kernels for
// those: every operator would fall back on a kernel a hundred times slower. Conversions are left at the
// graph's borders alone; constants are converted here, once. Why here: before the passes that recognise, fold
// and fuse, which then see the graph that the kernels will run. Numbers come out rounded less often than the
// model asks for, hence the class: reassociating.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Products of a type that the target's products alone read (Capabilities::converted_products) stay as they are.
// Nothing happens for a target that was not asked (whose table of products is empty) or has no f32 either.
Result<PassOutcome> widen_half(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
