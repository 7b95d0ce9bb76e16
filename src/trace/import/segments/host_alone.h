// A program that no recorder was in: what the session saw of it from outside is all there is.
#pragma once

#include <string_view>

#include "core/result.h"
#include "trace/trace.h"

namespace hone::trace::segments {

// Stacks of the process that was started and of all that it started, and what they took of the machine; no spans, no steps.
// Errors: no such file, or nobody was seen in it.
Result<Trace> read_host_alone(std::string_view bytes);

}  // namespace hone::trace::segments
