// Gathers over ranks that carry more than they need: what is gathered is reduced right after, when each rank
// could have reduced its own part and gathered the little that is left.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// The all-gathers whose whole result the next work reads that goes over as many elements, if
// that work is a reduction to a sixteenth or less (mean, argmax, sum over an axis); it need then go over each
// rank's own part only, and the gather carries what it leaves.
Claims find_whole_gathers(const View& view);

}  // namespace hone::analyze::device
