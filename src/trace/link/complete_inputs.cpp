#include "trace/link/complete_inputs.h"

#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trace/call_inputs.h"
#include "trace/link/roles.h"

namespace hone::trace::link {
namespace {

using Inputs = std::vector<CallInput>;

constexpr std::string_view kUntyped = "undefined[";
constexpr std::string_view kEmptyList = "()";

// How far back a tensor of the same shape is looked for, in calls.
constexpr std::ptrdiff_t kLookBack = 4096;

class Completer {
 public:
  Completer(Trace& trace, const SpanNesting& nesting) : trace_(trace), nesting_(nesting) {}

  void run() {
    collect();
    for (std::size_t i = 0; i < trace_.calls.size(); ++i) {
      Call& call = trace_.calls[i];
      if (!call.inputs.valid()) continue;
      const std::string_view text = trace_.strings.text(call.inputs);
      if (text.find(kUntyped) != std::string_view::npos) call.inputs = typed(i);
      if (is_missing_list(call)) call.inputs = with_gradients(call);
    }
  }

 private:
  using StepKey = std::pair<int, int32_t>;  // rank, step

  std::string_view kind(const Call& call) const { return trace_.strings.text(trace_.spans.name[call.span]); }
  StepKey step_of(const Call& call) const {
    return {trace_.tracks[trace_.spans.track[call.span].index].rank, trace_.spans.step[call.span]};
  }

  const Inputs& parsed(StringId text) {
    const auto [at, is_new] = parsed_.try_emplace(text);
    if (is_new)
      if (auto inputs = parse_call_inputs(trace_.strings.text(text)); inputs.ok())
        at->second = *std::move(inputs);
    return at->second;
  }

  bool is_missing_list(const Call& call) const {
    const std::string_view text = trace_.strings.text(call.inputs);
    // "() =1": counters of steps are counted up, one element a tensor
    return text.starts_with(kEmptyList) && text != "() =1" && is_update(kind(call));
  }

  static bool is_update(std::string_view kind) {
    return kind.starts_with("aten::_fused_") || kind.starts_with("aten::_foreach_") ||
           kind.starts_with("aten::_amp_foreach_");
  }

  // Into how many groups the tensors are divided that calls beside this one go over: the largest number that
  // divides how often each kind is called.
  int groups_of(const Call& call) const {
    int groups = 0;
    for (const auto& [kind, count] : calls_.at({step_of(call), nesting_.parent(call.span)}))
      groups = std::gcd(groups, count);
    return groups;
  }

  // Gradients of each step, and how often each kind is called beside others.
  void collect() {
    const std::unordered_set<uint32_t> sums = calls_that_sum();
    std::map<StepKey, Inputs> summed;
    for (const Call& call : trace_.calls) {
      if (!call.inputs.valid() || trace_.spans.step[call.span] == kNoStep) continue;
      if (kind(call) == kAccumulateGrad) {
        const Inputs& inputs = parsed(call.inputs);
        if (!inputs.empty() && inputs[0].kind == CallInput::Kind::kTensor)
          (sums.contains(call.span) ? summed : gradients_)[step_of(call)].push_back(inputs[0]);
      } else if (is_missing_list(call)) {
        ++calls_[{step_of(call), nesting_.parent(call.span)}][trace_.spans.name[call.span].index];
      }
    }
    // Where all are added to something, zeros for all that shows, each counts.
    for (auto& [step, list] : summed) gradients_.try_emplace(step, std::move(list));
  }

  // The calls of AccumulateGrad that add to what is there: with several micro-batches a step, a parameter's first
  // one takes the gradient as it is, and those that follow add to it.
  std::unordered_set<uint32_t> calls_that_sum() const {
    std::unordered_set<uint32_t> sums;
    for (const Call& call : trace_.calls) {
      if (kind(call) != "aten::add" && kind(call) != "aten::add_") continue;
      const uint32_t around = nesting_.parent(call.span);
      if (around != kNoSpan && trace_.spans.name[around].valid() &&
          trace_.strings.text(trace_.spans.name[around]) == kAccumulateGrad)
        sums.insert(around);
    }
    return sums;
  }

  // The same text stands for the same types: those of its first use.
  StringId typed(std::size_t at) {
    const StringId text = trace_.calls[at].inputs;
    if (const auto known = typed_.find(text); known != typed_.end()) return known->second;
    Inputs inputs = parsed(text);
    for (CallInput& input : inputs)
      for (CallInput& item : input.items)
        if (item.dtype == DType::kUndefined) item.dtype = last_type_of(item.dims, at);
    for (CallInput& input : inputs) share_type(input.items);
    return typed_[text] = trace_.strings.intern(call_inputs_text(inputs));
  }

  // Tensors of a list that nothing else shows have the type of the others, where these agree.
  static void share_type(Inputs& items) {
    DType shared = DType::kUndefined;
    for (const CallInput& item : items) {
      if (item.dtype == DType::kUndefined) continue;
      if (shared != DType::kUndefined && item.dtype != shared) return;
      shared = item.dtype;
    }
    for (CallInput& item : items) item.dtype = item.dtype == DType::kUndefined ? shared : item.dtype;
  }

  DType last_type_of(const std::vector<int64_t>& dims, std::size_t before) {
    const auto begin = static_cast<std::ptrdiff_t>(before);
    for (std::ptrdiff_t i = begin - 1; i >= 0 && i >= begin - kLookBack; --i) {
      const StringId text = trace_.calls[static_cast<std::size_t>(i)].inputs;
      if (!text.valid()) continue;
      for (const CallInput& input : parsed(text))
        if (input.kind == CallInput::Kind::kTensor && input.dims == dims) return input.dtype;
    }
    return DType::kUndefined;
  }

  StringId with_gradients(const Call& call) {
    const auto found = gradients_.find(step_of(call));
    if (found == gradients_.end()) return call.inputs;
    const int groups = groups_of(call);
    CallInput list;
    list.kind = CallInput::Kind::kList;
    for (const CallInput& gradient : found->second) list.items.push_back(gradient);
    if (groups > 1) {  // which tensors are whose is not known: one of the mean size
      CallInput part{CallInput::Kind::kTensor, list.items[0].dtype, {list.elements() / groups}, {}, {}, {}};
      list.items = {part};
    }
    Inputs inputs = parsed(call.inputs);
    // Adam: parameters, gradients and two moments, the maxima only where they are asked for. Others: the two
    // that all have, or the lists that the call has.
    const bool adam = kind(call).starts_with("aten::_fused_adam");
    const bool fused = kind(call).starts_with("aten::_fused_");
    const std::size_t lists = adam ? 4 : fused ? 2 : inputs.size();
    for (std::size_t i = 0; i < inputs.size() && i < lists; ++i)
      if (inputs[i].kind == CallInput::Kind::kList && inputs[i].items.empty()) inputs[i] = list;
    return trace_.strings.intern(call_inputs_text(inputs));
  }

  Trace& trace_;
  const SpanNesting& nesting_;
  std::unordered_map<StringId, Inputs> parsed_;
  std::unordered_map<StringId, StringId> typed_;
  std::map<StepKey, Inputs> gradients_;
  // By step and span around them: how many calls there are of each kind.
  std::map<std::pair<StepKey, uint32_t>, std::map<uint32_t, int>> calls_;
};

}  // namespace

void complete_inputs(Trace& trace, const SpanNesting& nesting) { Completer(trace, nesting).run(); }

}  // namespace hone::trace::link
