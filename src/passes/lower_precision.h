// Products, convolutions and attention in f16 or bf16, which matrix units take at a multiple of f32's rate, and what lies
// between them in the same type, so that half the bytes move and nothing is converted on the way. Which operators may be
// narrow is a table (precision_table.h); which have kernels for it, the target's to say: no operator moves to a reference
// kernel because of it. Weights are converted here, once. What does not survive that (a number beyond the type's range, one
// that would vanish) leaves its operator in f32, by name. Inputs and outputs of the graph keep their types.
//
// What cannot be known without running the model (activations beyond the range, operators that magnify roundings) comes in
// as PassContext::keep_f32; lab/precision measures it.
//
// Why here: after products, normalisation and attention were recognised and folded, whose kernels sum in f32 where the
// pieces would store their sums; before what is merged, laid out and fused, which then sees the types that will run.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Nothing happens for a target whose products take no such type: nothing would be faster there.
Result<PassOutcome> lower_to_f16(const graph::Graph& graph, const PassContext& context);
Result<PassOutcome> lower_to_bf16(const graph::Graph& graph, const PassContext& context);

// What f32 numbers become in `type`, f16 or bf16.
struct Narrowing {
  int64_t overflowing = 0;  // finite, beyond the type's range
  int64_t vanishing = 0;    // not zero, and zero in the type
  int64_t subnormal = 0;    // kept with fewer digits than the type has
  double largest = 0;       // finite magnitude
};
Narrowing narrowing_of(const Tensor& numbers, DType type);
// In `type`; rounds to nearest even, beyond the range to infinity. Of f32.
Tensor narrowed(const Tensor& numbers, DType type);
// The largest finite number of f16 or bf16.
double largest_of(DType type);

}  // namespace hone::passes
