// Convolutions of kernel size 1 over series (nn.Conv1d): products of a matrix with what lies at each time.
// Where time lies last in memory, programs transpose to them and back, and their biases take passes of their
// own; a linear layer over channels that lie last has neither.
#pragma once

#include "analyze/device/busy/busy_split.h"
#include "analyze/device/timeline/rank_timeline.h"

namespace hone::analyze::device {

// Marks in `split` what was launched right before and after such convolutions of the forward pass: the copy
// of the input between two orders, the sum with the bias, and the pass that reads the result against its
// order. A sum alone is marked only where no other convolution of the program wants time to lie last. Before
// mark_fusible: a chain of passes keeps another one than the sum.
void mark_pointwise_series(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split);

}  // namespace hone::analyze::device
