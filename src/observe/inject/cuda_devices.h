// What devices this process sees, asked of the CUDA driver that it has loaded itself.
#pragma once

#include "observe/inject/output.h"

namespace hone::observe::inject {

// Writes a Device record for each. False while CUDA is still starting: ask again later.
bool write_devices(Output& output);

}  // namespace hone::observe::inject
