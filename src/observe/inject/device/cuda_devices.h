// What devices this process sees, asked of the CUDA driver that it has loaded itself.
#pragma once

#include "observe/inject/log/output.h"

namespace hone::observe::inject {

// Writes a Device record for each. False while CUDA is still starting: ask again later.
bool write_devices(Output& output);

// Makes the driver's cheapest call, which needs no context: cuDriverGetVersion.
void call_driver();

}  // namespace hone::observe::inject
