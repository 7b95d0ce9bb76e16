// The text of the source lines that kernels were found at, read while the files are as they were compiled.
#pragma once

#include "trace/trace.h"

namespace hone::observe {

// Fills in KernelSample::source where the file can be read; without blanks at its ends, and shortened.
void read_source_lines(trace::Trace& trace);

}  // namespace hone::observe
