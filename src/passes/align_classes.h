// Classes that no vector divides: a vocabulary of 50,257 gives rows of logits that begin anywhere, which matrix units read
// and write several times slower.
#pragma once

#include "passes/pass.h"

namespace hone::passes {

// Pads the classes of a product of half type whose results go to a cross entropy and its gradient alone: weights with zeros, and
// a bias so low that a class which does not exist has probability 0, and with it a gradient of 0. Losses and all gradients are
// what they were. Results of products with the padded gradient lose what stands for no class. Not for targets that narrow
// what products read and nothing else.
Result<PassOutcome> align_classes(const graph::Graph& graph, const PassContext& context);

}  // namespace hone::passes
