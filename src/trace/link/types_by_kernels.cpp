#include "trace/link/types_by_kernels.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trace/call_inputs.h"
#include "trace/kernel_family.h"

namespace hone::trace::link {
namespace {

using Inputs = std::vector<CallInput>;

// As C++ spells them. "float" stands in other words too, but later in a name than the type that counts.
constexpr std::array<std::pair<std::string_view, DType>, 7> kSpelled = {{
    {"BFloat16", DType::kBF16},
    {"bfloat16", DType::kBF16},
    {"Half", DType::kF16},
    {"half", DType::kF16},
    {"float", DType::kF32},
    {"double", DType::kF64},
    {"complex<float>", DType::kC64},
}};

DType type_of_math(KernelMath math) {
  switch (math) {
    case KernelMath::kF64:
      return DType::kF64;
    case KernelMath::kVectorF32:
    case KernelMath::kTf32:
      return DType::kF32;
    case KernelMath::kBf16:
      return DType::kBF16;
    case KernelMath::kF16:
    case KernelMath::kVectorF16:
      return DType::kF16;
    case KernelMath::kF8:
      return DType::kF8E4M3FN;
    case KernelMath::kI8:
      return DType::kI8;
    default:
      return DType::kUndefined;
  }
}

// Calls `each` with every tensor, those of lists included.
template <typename Each>
void for_tensors(Inputs& inputs, Each&& each) {
  for (CallInput& input : inputs) {
    if (input.kind == CallInput::Kind::kTensor) each(input);
    for (CallInput& item : input.items) each(item);
  }
}

bool any_typed(Inputs& inputs) {
  bool typed = false;
  for_tensors(inputs, [&](const CallInput& tensor) { typed |= tensor.dtype != DType::kUndefined; });
  return typed;
}

bool any_typed(const Trace& trace) {
  std::unordered_set<uint32_t> seen;
  for (const Call& call : trace.calls) {
    if (!call.inputs.valid() || !seen.insert(call.inputs.index).second) continue;
    auto inputs = parse_call_inputs(trace.strings.text(call.inputs));
    if (inputs.ok() && any_typed(*inputs)) return true;
  }
  return false;
}

// By row of the caller.
std::unordered_map<uint32_t, DType> types_of_callers(const Trace& trace, std::span<const DeviceWork> work) {
  std::unordered_map<uint32_t, std::pair<int64_t, DType>> longest;
  std::unordered_map<uint32_t, DType> by_name;
  for (const DeviceWork& item : work) {
    const StringId name = trace.spans.name[item.row];
    if (item.caller == kNoSpan || !name.valid()) continue;
    const auto [type, is_new] = by_name.try_emplace(name.index, DType::kUndefined);
    if (is_new) type->second = element_type_of_kernel(trace.strings.text(name));
    if (type->second == DType::kUndefined) continue;
    auto& best = longest.try_emplace(item.caller, -1, DType::kUndefined).first->second;
    best = std::max(best, {trace.spans.duration_ns[item.row], type->second});
  }
  std::unordered_map<uint32_t, DType> types;
  for (const auto& [caller, best] : longest) types.emplace(caller, best.second);
  return types;
}

}  // namespace

DType element_type_of_kernel(std::string_view name) {
  if (const DType type = type_of_math(kernel_family(name).math); type != DType::kUndefined) return type;
  DType first = DType::kUndefined;
  std::size_t at = std::string_view::npos;
  for (const auto& [spelled, type] : kSpelled)
    if (const std::size_t found = name.find(spelled); found < at) {
      at = found;
      first = type;
    }
  return first;
}

void type_inputs_by_kernels(Trace& trace, std::span<const DeviceWork> work) {
  if (any_typed(trace)) return;
  const std::unordered_map<uint32_t, DType> types = types_of_callers(trace, work);
  bool any = false;
  for (Call& call : trace.calls) {
    const auto type = types.find(call.span);
    if (type == types.end() || !call.inputs.valid()) continue;
    auto inputs = parse_call_inputs(trace.strings.text(call.inputs));
    if (!inputs.ok()) continue;
    for_tensors(*inputs, [&](CallInput& tensor) {
      tensor.dtype = type->second;
      any = true;
    });
    call.inputs = trace.strings.intern(call_inputs_text(*inputs));
  }
  if (any)
    trace.meta.warnings.emplace_back(
        "the recording has shapes without element types: each operator is taken to work in the type that its "
        "kernel is named by; bytes are estimates");
}

void type_lists_by_kernels(Trace& trace, std::span<const DeviceWork> work) {
  const std::unordered_map<uint32_t, DType> types = types_of_callers(trace, work);
  for (Call& call : trace.calls) {
    const auto type = types.find(call.span);
    if (type == types.end() || !call.inputs.valid()) continue;
    const std::string_view name = trace.strings.text(trace.spans.name[call.span]);
    const bool fused = name.starts_with("aten::_fused_");
    if (!fused && !name.starts_with("aten::_foreach_")) continue;
    auto inputs = parse_call_inputs(trace.strings.text(call.inputs));
    if (!inputs.ok() || (!fused && any_typed(*inputs))) continue;
    for (CallInput& input : *inputs)
      for (CallInput& item : input.items)
        if (!item.dims.empty()) item.dtype = type->second;
    call.inputs = trace.strings.intern(call_inputs_text(*inputs));
  }
}

}  // namespace hone::trace::link
