// What the JSON of a live picture holds, described once (table.h).
#pragma once

#include "report/description/table.h"
#include "trace/live/machine_use.h"

namespace hone::report {

const Fields<trace::live::MachineUse>& live_fields();

}  // namespace hone::report
