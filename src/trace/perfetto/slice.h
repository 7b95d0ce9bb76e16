// What a slice carries beside its place and time, as annotations: its step, its operator, and the details of
// calls, launches, copies and collectives. Perfetto shows them when the slice is clicked; the reader turns
// them back into columns.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/perfetto/annotation.h"
#include "trace/trace.h"

namespace hone::trace::perfetto {

// The slice of row `row` of the span table. What an operator's annotations say beyond its number is for
// people; the table of operators is where the reader takes it from.
std::vector<Annotation> slice_annotations(const Trace& trace, uint32_t row);

// Enters the annotation where it belongs: at the last span of the trace. Unknown ones are ignored.
void read_slice_annotation(const Annotation& annotation, Trace& trace);

}  // namespace hone::trace::perfetto
