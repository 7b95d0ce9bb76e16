// Recognises scaled dot-product attention in the several ways in which exporters write it, as one Attention:
//   softmax(scale · Q·Kᵀ + mask) · V
// with the scale on Q, on K, on both (its root) or on the scores; masks added, or written by Where; a
// constant causal mask becomes is_causal; heads as an axis of their own or folded into the batch; K and V
// repeated for grouped queries. The reshapes and transposes that bring heads forward and back are absorbed:
// operands become [B,T,H·D] where the ancestors lie so. Why: the T×T scores never reach memory, nor do four
// transposed copies of the activations. Why here: before products are fused with the scale or mask behind
// them.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

Result<PassOutcome> recognise_attention(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
