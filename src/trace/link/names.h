// What the names of device work and of collectives mean: each distinct name is looked at once, and what it
// tells is kept in the trace (Trace::kernels, Collective::kind).
#pragma once

#include "trace/trace.h"

namespace hone::trace::link {

// O(spans), and one look at each distinct name.
void recognise_names(Trace& trace);
// One name of device work.
void recognise_kernel(Trace& trace, StringId name);

}  // namespace hone::trace::link
