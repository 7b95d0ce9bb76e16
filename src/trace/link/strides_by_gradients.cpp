#include "trace/link/strides_by_gradients.h"

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/aten/cost.h"
#include "trace/call_inputs.h"

namespace hone::trace::link {
namespace {

using Dims = std::vector<int64_t>;
using Inputs = std::vector<CallInput>;

bool is_tensor(const Inputs& inputs, std::size_t i) {
  return i < inputs.size() && inputs[i].kind == CallInput::Kind::kTensor;
}

// The shape of the output by those of input and weight; empty: not one alone.
class Outputs {
 public:
  void add(const Inputs& backward) {  // gradient, input, weight, …
    if (!is_tensor(backward, 0) || !is_tensor(backward, 1) || !is_tensor(backward, 2)) return;
    const auto [at, is_new] = known_.try_emplace({backward[1].dims, backward[2].dims}, backward[0].dims);
    if (!is_new && at->second != backward[0].dims) at->second.clear();
  }
  Dims of(const Inputs& forward) const {  // input, weight, …
    if (!is_tensor(forward, 0) || !is_tensor(forward, 1)) return {};
    const auto at = known_.find({forward[0].dims, forward[1].dims});
    return at == known_.end() ? Dims{} : at->second;
  }
  bool empty() const { return known_.empty(); }

 private:
  std::map<std::pair<Dims, Dims>, Dims> known_;
};

}  // namespace

void strides_by_gradients(Trace& trace) {
  const auto kind = [&](const Call& call) { return trace.name(trace.spans.row(call.span)); };
  Outputs outputs;
  for (const Call& call : trace.calls)
    if (call.inputs.valid() && kind(call) == "aten::convolution_backward")
      if (const auto inputs = parse_call_inputs(trace.strings.text(call.inputs)); inputs.ok())
        outputs.add(*inputs);
  if (outputs.empty()) return;
  for (Call& call : trace.calls) {
    if (!call.inputs.valid() || !kind(call).ends_with("convolution")) continue;
    auto inputs = parse_call_inputs(trace.strings.text(call.inputs));
    if (inputs.ok() && aten::complete_convolution(kind(call), outputs.of(*inputs), *inputs))
      call.inputs = trace.strings.intern(call_inputs_text(*inputs));
  }
}

}  // namespace hone::trace::link
