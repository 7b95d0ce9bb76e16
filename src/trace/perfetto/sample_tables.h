// Sampled instructions of kernels (kernel_samples.h) as annotation trees, and back. Names are many and the same in most
// rows: rows have numbers into one list of them.
#pragma once

#include "core/result.h"
#include "trace/perfetto/annotation.h"
#include "trace/trace.h"

namespace hone::trace::perfetto {

Annotation from_kernel_samples(const Trace& trace);
// Errors: a row without the names that it needs.
Status to_kernel_samples(const Annotation& from, Trace& trace);

}  // namespace hone::trace::perfetto
