// What stands around each host span: the phase of the training step that it serves, the module of the model, and the lines
// of source. All are handed down from the ranges around it; a backward operator takes the module and the lines of the
// forward operator that it is the gradient of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/link/roles.h"
#include "trace/span_nesting.h"
#include "trace/trace.h"

namespace hone::trace::link {

// Where in the model and in the sources a span is; invalid: nothing says it.
struct Origin {
  StringId module;   // the path, "Gpt_0/Block_3/Linear_1"
  StringId program;  // "train.py:31", of the innermost function of the program
  StringId
      package;  // "torchvision/ops/boxes.py:11", of the innermost one of a package that the program called
};

struct Context {
  std::vector<Phase> phase;    // by row; kUnknown for work of devices
  std::vector<Origin> origin;  // by row
};

// Interns the paths and lines. `nesting` must be of the spans as they are; `steps` says by row which step a span belongs to, also to
// one that is not shown.
Context find_context(Trace& trace, const SpanNesting& nesting, const std::vector<Role>& roles,
                     std::span<const int32_t> steps);

}  // namespace hone::trace::link
