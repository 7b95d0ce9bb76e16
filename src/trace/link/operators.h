// The operator table of a foreign trace: one row for each distinct kind, inputs, phase and module of a host
// call, with the costs that its inputs tell.
#pragma once

#include <span>

#include "trace/link/context.h"
#include "trace/link/launches.h"
#include "trace/trace.h"

namespace hone::trace::link {

// Fills Span::op of host operators and, by their callers, of device work, where it is not set; adds rows to
// Trace::operators.
void make_operators(Trace& trace, const Context& context, std::span<const DeviceWork> work);

}  // namespace hone::trace::link
