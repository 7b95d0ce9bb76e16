// Of a step that was seen once or twice, and that nothing surely marks, nothing is concluded: it may be the program's start.
// Nor is anything of a recording that holds next to nothing.
#pragma once

#include "analyze/findings.h"
#include "trace/trace.h"

namespace hone::analyze {

// Takes verdict, findings and gains back where they stand on so little, and says so and what is missing; else does
// nothing.
void withhold_of_few_steps(const trace::Trace& trace, Analysis& analysis);

}  // namespace hone::analyze
