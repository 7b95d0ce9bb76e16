// Products and convolutions of f32 on matrix units that multiply tf32: operands rounded to 10 bits of mantissa, products summed
// in f32, several times the rate of f32's own arithmetic. No value changes its type, so nothing is converted and no byte is
// saved: each operator that has the attribute is told that its kernel may round (graph/product_math.h). The target's table
// says whether it has such kernels; where it has none the pass changes nothing, and says so.
//
// What a model cannot stand comes in as PassContext::keep_f32, as for narrow types; lab/precision measures it by rounding as
// the matrix units do.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> allow_tf32(const graph::Graph& graph, const PassContext& context);

// Numbers of f32 as tf32 has them: 10 bits of mantissa, to the nearest, halves away from zero, as the conversion of PTX
// (cvt.rna.tf32.f32) has it. Infinities and NaN stay, and so does what would round beyond f32's range.
Tensor rounded_to_tf32(const Tensor& numbers);

// The inputs of `node` as a kernel that uses its permission reads them: the two that it multiplies are rounded where the
// node may use tf32 and they are of f32. For whoever measures what the permission costs; the interpreter gives none.
std::vector<Tensor> as_multiplied(const graph::Node& node, std::vector<Tensor> inputs);

}  // namespace hone::passes
