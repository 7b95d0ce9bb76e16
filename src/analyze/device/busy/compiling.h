// A compiler that measures its kernels launches them: works of the device that are compilation's.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// The works that were launched while the host compiled: they go with compilation.
Claims find_compiling(const View& view);

}  // namespace hone::analyze::device
