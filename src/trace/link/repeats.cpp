#include "trace/link/repeats.h"

#include <algorithm>
#include <vector>

#include "trace/aten/cost.h"
#include "trace/call_inputs.h"

namespace hone::trace::link {
namespace {

enum class Finding : uint8_t { kNotSeen, kRepeats, kElse };

bool repeats(const Trace& trace, StringId text) {
  if (!text.valid()) return false;
  const auto inputs = parse_call_inputs(trace.strings.text(text));
  if (!inputs.ok() || inputs->size() < 2) return false;
  const CallInput &to = (*inputs)[0], &from = (*inputs)[1];
  const bool tensors = to.kind == CallInput::Kind::kTensor && from.kind == CallInput::Kind::kTensor;
  return tensors && to.dtype == from.dtype && to.strides.empty() && aten::copies_of_each(to, from) > 1;
}

bool writes_out(OperatorKind what) { return what == OperatorKind::kClone || what == OperatorKind::kRepeat; }

}  // namespace

void find_repeats(Trace& trace, const SpanNesting& nesting) {
  std::vector<Finding> found(trace.operators.size(), Finding::kNotSeen);
  for (const Call& call : trace.calls) {
    const OperatorId op = trace.spans.op[call.span];
    if (!op.valid() || found[op.index] == Finding::kElse) continue;
    if (trace.spans.category[call.span] != Category::kOperator ||
        trace.operators[op.index].what != OperatorKind::kCopy)
      continue;
    const uint32_t around = nesting.parent(call.span);
    const bool out = around != kNoSpan && trace.spans.op[around].valid() &&
                     writes_out(trace.operators[trace.spans.op[around].index].what);
    if (!out || (found[op.index] == Finding::kNotSeen && !repeats(trace, call.inputs)))
      found[op.index] = Finding::kElse;
    else
      found[op.index] = Finding::kRepeats;
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] == Finding::kRepeats) trace.operators[i].avoidable_bytes = trace.operators[i].bytes();
}

}  // namespace hone::trace::link
