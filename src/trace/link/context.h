// What stands around each host span: the phase of the training step that it serves, and the module of the
// model. Both are handed down from the ranges around it; a backward operator takes the module of the forward
// operator that it is the gradient of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/link/roles.h"
#include "trace/span_nesting.h"
#include "trace/trace.h"

namespace hone::trace::link {

struct Context {
  std::vector<Phase> phase;      // by row; kUnknown for work of devices
  std::vector<StringId> module;  // by row: the path, "Gpt_0/Block_3/Linear_1"; invalid: none
};

// Interns the paths. `nesting` must be of the spans as they are; `steps` says by row which step a span belongs to, also to
// one that is not shown.
Context find_context(Trace& trace, const SpanNesting& nesting, const std::vector<Role>& roles,
                     std::span<const int32_t> steps);

}  // namespace hone::trace::link
