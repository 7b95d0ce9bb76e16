// Costs of device work that its operators do not tell, by what hardware counters counted of launches like it.
#pragma once

#include <span>

#include "trace/link/launches.h"
#include "trace/trace.h"

namespace hone::trace::link {

// Kernels that no operator launched (native programs) get rows of their own in the table of operators, where they were counted; operators of which nothing else says what they cost get the sum over the kernels that one call launches, where
// counters know these but for a tenth of their time. Both are marked as measured. After make_operators().
void cost_by_counters(Trace& trace, std::span<const DeviceWork> work);

// Whether a row stands for a kernel that no operator launched.
inline bool is_a_kernels_own(const Operator& op) { return op.measured && !op.implementation.empty(); }

}  // namespace hone::trace::link
