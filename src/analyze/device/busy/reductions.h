// Reductions over ranks that carry more than they need: gradients that are reduced more often than they are
// used (a step that accumulates over micro-batches and reduces after each, DistributedDataParallel without
// no_sync(), although one optimizer step follows), and sums in f32 of what is in 16 bits before and after
// them.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// The reductions that a later one of the same step repeats, and the pass over the same
// elements that prepares each: they belong to communication and need not be launched. A step's reductions are
// its all-reduces and reduce-scatters between two forward passes. They are repeats only where every pass
// reduces the same sizes, and these are as many elements as the optimizer updates: reductions of activations
// (tensor parallelism) are not.
Claims find_repeated_reductions(const View& view);

// The all-reduces and reduce-scatters in f32 whose data is converted right before or after
// them, and these conversions: in 16 bits half as much is carried, and nothing is converted.
Claims find_wide_sums(const View& view);

}  // namespace hone::analyze::device
