// Broadcasts that are written out: Operator::avoidable_bytes of copies that make a packed tensor of elements
// which are stored once, where what reads it could take it as it is.
#pragma once

#include "trace/span_nesting.h"
#include "trace/trace.h"

namespace hone::trace::link {

// The copy_ within clone (also that of contiguous, reshape and repeat_interleave) or repeat, whose source has
// fewer elements than its target: all bytes are avoidable. Within other operators such a copy is a part of
// their own work, as that of a bias into the result of addmm; where the program itself calls copy_, it fills
// what it wants filled.
void find_repeats(Trace& trace, const SpanNesting& nesting);

}  // namespace hone::trace::link
