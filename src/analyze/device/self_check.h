// Numbers that cannot be right, whatever the program does: what the tables say is held against what a device
// can do and against itself. A reader must not have to find this out.
#pragma once

#include <string>
#include <vector>

#include "analyze/device/operators.h"

namespace hone::analyze::device {

// Warnings for people; empty: nothing contradicts. `roofs` are those that the tables are of. Products above
// their roof whose numbers are mostly zeros (rows of one one) are none: they draw less power than the
// products that the roof was measured with, and convolutions may run by algorithms that need fewer FLOPs than
// their definition.
std::vector<std::string> self_check(const OperatorTables& tables, const GpuRoofs& roofs);

}  // namespace hone::analyze::device
