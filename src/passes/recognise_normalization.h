// Recognises layer and RMS normalisation that exporters spell out over the last axis or axes:
//   LayerNormalization: d = x − mean(x);  d / sqrt(mean(d²) + ε) · scale + bias
//   RMSNormalization:   x / sqrt(mean(x²) + ε) · scale
// with the square as Pow or Mul, the division as Div or as a product with a reciprocal, with or without scale
// and bias. Why: two passes over a row that stays in cache instead of seven to nine over the tensor. Why
// here: before pointwise groups would take the pieces.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> recognise_normalization(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
