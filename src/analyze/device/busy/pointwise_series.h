// Convolutions of kernel size 1 over series (nn.Conv1d): products of a matrix with what lies at each time.
// Where time lies last in memory, programs transpose to them and back, and their biases take passes of their
// own; a linear layer over channels that lie last has neither.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// What was launched right before and after such convolutions of the forward pass: the copy
// of the input between two orders, the sum with the bias, and the pass that reads the result against its
// order. A sum alone is claimed only where no other convolution of the program wants time to lie last.
Claims find_pointwise_series(const View& view);

}  // namespace hone::analyze::device
