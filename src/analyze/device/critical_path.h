// The longest chain of things that waited for each other in the typical step: walked back from its end,
// across the host's threads, the device's streams and, at collectives, to the rank that came last.
#pragma once

#include <vector>

#include "analyze/device/study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

// In order of time, relative to the start of the step; neighbours of one kind and track are joined. The
// segments do not overlap and cover the step.
std::vector<PathSegment> critical_path(const Study& study);

}  // namespace hone::analyze::device
