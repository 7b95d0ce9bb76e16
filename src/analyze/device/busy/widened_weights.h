// Weights stored in 8 bits that are widened in memory for every product: they are converted to a float type
// of 16 or 32 bits, perhaps scaled and shifted, and a product of few rows reads the result.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// The conversion and the passes over its result, where a product then reads them as its
// weight and is bound by reading it; and that product, which could read one byte an element. Where many rows
// pass, widening once for all of them is right, and nothing is claimed. What anything else changes or reads
// in between is none of this.
Claims find_widened_weights(const View& view);

}  // namespace hone::analyze::device
