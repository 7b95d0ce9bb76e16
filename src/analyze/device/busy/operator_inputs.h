// What the recorded inputs of an operator say about the tensors it goes over: their sizes, and how they lie
// in memory. Pure functions of the inputs; what follows for the operator's time is busy_split.h's.
#pragma once

#include <cstddef>
#include <vector>

#include "trace/call_inputs.h"
#include "trace/trace.h"

namespace hone::analyze::device {

using Inputs = std::vector<trace::CallInput>;

bool is_tensor(const Inputs& inputs, std::size_t i);

// Elements of the largest tensor, those in lists included.
double largest_tensor(const Inputs& inputs);
// Elements of the tensor to which the inputs of a pointwise operator broadcast; 0: they do not.
double broadcast_elements(const Inputs& inputs);

bool is_image(const Inputs& inputs);  // some tensor has four dimensions

// Input [n, c, h, w], filters [k, c, r, s] that tile it: out = patches · filters.
bool is_of_patches(const Inputs& inputs);

// A product with a matrix, read or written, whose rows are no multiple of what matrix units load at once (kAlignment
// elements of 16 bits) where their elements lie next to each other: of its other side any number will do.
bool has_odd_size(const Inputs& inputs);
// The same of a convolution, whose matrices have the channels as a side: an image's positions are none.
bool has_odd_channels(const Inputs& inputs);

// Two tensors of one shape, of at least `elements`, whose neighbours in memory are neighbours along different
// dimensions: reading one of them in the order of the other wastes most of every transaction. A tensor that
// is repeated without being stored is not one of them: its few elements stay in caches.
bool mixes_orders(const Inputs& inputs, double elements);

// A mask of queries × keys, the same for all sequences and heads and as long as it is wide: mostly the causal
// one.
bool reads_square_mask(const Inputs& inputs);

// A copy between two orders of the same elements, or any other operator that does nothing else.
bool changes_order(const trace::Operator& op, const Inputs& inputs);
// A copy that only converts the type.
bool is_cast(const trace::Operator& op, const Inputs& inputs);

// The share of the other tensors in a concatenation whose first one is nearly all of it; else 0.
double appended_share(const trace::Operator& op, const Inputs& inputs);

}  // namespace hone::analyze::device
