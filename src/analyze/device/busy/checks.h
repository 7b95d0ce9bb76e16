// Passes over tensors that only make a yes or no for the host: isfinite(x).all(), isnan(x).any(), (x >
// 0).all() in an if. The host waits for the answer, and without the question neither the passes nor the wait
// would be.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// Each copy of a few bytes to the host that follows all() or any(), that reduction, and the
// comparisons right before it over as many elements. They belong to the waiting of the host.
Claims find_checks(const View& view);

}  // namespace hone::analyze::device
