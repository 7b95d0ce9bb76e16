// The host's tables of a trace (samples of stacks, what processes took) as annotation trees, and back. Rows of samples
// are many: their columns are lists.
#pragma once

#include "trace/perfetto/annotation.h"
#include "trace/trace.h"

namespace hone::trace::perfetto {

Annotation from_stacks(const Trace& trace);
Annotation from_host_use(const Trace& trace);
// Rows that point nowhere are found by Trace::validate.
void to_stacks(const Annotation& from, Trace& trace);
void to_host_use(const Annotation& from, Trace& trace);

}  // namespace hone::trace::perfetto
