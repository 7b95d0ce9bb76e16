// Weights that are put together anew in every call: two narrow matrices are multiplied into one of a weight's
// size (a low-rank adapter, LoRA), it is scaled and added to the weight, and one product reads the sum.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// The narrow product, the scalings and the sum, where a product of the forward pass then
// reads the sum as its weight. x·(W + s·A·B) is x·W + s·(x·A)·B whatever the three are: that the narrow
// matrices may stay beside the weight needs no knowledge of what they hold. The sum stands for the two narrow
// products of the activations that take its place.
Claims find_merged_weights(const View& view);

}  // namespace hone::analyze::device
