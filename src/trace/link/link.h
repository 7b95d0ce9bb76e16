// Joins what a trace holds side by side: which step each span belongs to, which operator caused each piece of
// device work, which phase and module of the program an operator serves, and what the operator must cost by
// the shapes it was called with. Importers write raw spans and details (trace.h, details.h); this fills in
// Span::step, Span::op and the operator table. It knows frameworks only through tables: names and their roles
// (roles.h), operators and their costs (aten/).
#pragma once

#include "core/result.h"
#include "trace/link/steps.h"
#include "trace/trace.h"

namespace hone::trace {

// Idempotent: what the trace already says (steps marked, operators of a plan) stays as it is. O(n log n) in
// spans. Afterwards:
// - Meta::framework says who made the program, by names that one framework alone gives (link/frameworks.h).
// - Trace::kernels and Collective::kind say what the names of device work and collectives mean.
// - kStep spans mark the steps on a host track, numbered as the program numbered them or from 0; how they
//   were found is in the trace (steps_found, link/steps.h). A rank without any repetition is one step. Steps of
//   several ranks that hone numbers are numbered alike, as far as their collectives tell which belong
//   together.
// - Span::step of host spans: the step within which they begin; device work has the step that
//   launched it.
// - Span::op of host operator spans: a row for each distinct kind, inputs, phase and module. Device work has the
//   innermost operator around the call that launched it, by correlation, or by external id where that call
//   was not recorded.
// - Kernels that no operator launched are operators of their own, where counters say what they cost (link/counted_operators.h).
// - Operator costs are of one execution. A row without FLOPs and bytes is of an operator whose cost nobody
//   knows, or whose inputs were not recorded.
// Errors: a trace that does not validate.
Status link_trace(Trace& trace);

}  // namespace hone::trace
