// Weights that are sharded over ranks and gathered again although nothing has changed them: sharded training
// drops a layer's weights after its forward pass, so that a program that generates token by token with such a
// model gathers the whole of it for every token.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// The all-gathers of weights but for the first of each, with the copies that pack what they
// send and unpack what they bring: they belong to communication and need not be launched. What is gathered is
// the same
// - where FSDP's ranges name the module, by that name, or
// - where the sizes of all gathers are a whole pattern, of at least two sizes, again and again, and what a
//   turn gathers is as many elements as the weights of the products beside it: activations are not.
// Between two gathers of the same there is no backward pass, no update and no reduce-scatter, as all of these
// go with weights that change (or whose whole is dropped to make room for gradients); fewer than three are
// not enough to tell turns from several models of one shape. A model that does not fit on the device as a
// whole has to be gathered in turn.
Claims find_repeated_gathers(const View& view);

}  // namespace hone::analyze::device
