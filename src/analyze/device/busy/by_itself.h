// What each work shows by itself: in too wide a type, in a bad order, far below its roof. The numbers behind
// it are in busy_rules.h.
#pragma once

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

// At most one claim for each work. Reads nothing of `view` but the works and their operators.
Claims find_by_itself(const View& view);

}  // namespace hone::analyze::device
