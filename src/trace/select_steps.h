// Only some steps of a trace, for questions about one that was unlike the others.
#pragma once

#include <cstdint>
#include <optional>

#include "core/result.h"
#include "trace/trace.h"

namespace hone::trace {

struct StepSelection {
  std::optional<int32_t> first = {}, last = {};    // numbers of steps, both within
  std::optional<double> from_ms = {}, to_ms = {};  // since the recording begins; steps that lie within

  bool all() const { return !first && !last && !from_ms && !to_ms; }
};

// Of a linked trace: what other steps did stays, and belongs to no step that is explained. Errors: no such step; says which
// there are.
Status select_steps(Trace& trace, const StepSelection& selection);

}  // namespace hone::trace
