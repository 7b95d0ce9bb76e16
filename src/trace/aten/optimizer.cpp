// Operators on lists of tensors: the steps of optimizers, fused into one kernel for all parameters or one
// operation at a time (foreach). `flops` is an element's of the first list.
#include <algorithm>

#include <fmt/format.h>

#include "trace/aten/table.h"

namespace hone::trace::aten {
namespace {

using enum OperatorClass;

bool typed(std::span<const CallInput> list) {
  return !list.empty() && std::all_of(list.begin(), list.end(),
                                      [](const CallInput& item) { return dtype_size(item.dtype) > 0; });
}

std::string describe_list(const CallInput& list) {
  return fmt::format("{} tensor{}, {} elements", list.items.size(), list.items.size() == 1 ? "" : "s",
                     list.elements());
}

// The first `operands` arguments are lists: every one is read, and all but the gradients, the second one, are
// written.
std::optional<OperatorCost> fused(const Args& args, const Entry& entry) {
  const auto lists = args.first(entry.operands);
  if (lists.empty() || !typed(args.list(0))) return std::nullopt;
  OperatorCost cost;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].kind != CallInput::Kind::kList) continue;
    cost.read += lists[i].bytes();
    if (i != 1) cost.written += lists[i].bytes();
  }
  cost.flops = entry.flops * static_cast<double>(lists[0].elements());
  cost.dtype = lists[0].items[0].dtype;
  cost.geometry = describe_list(lists[0]);
  return cost;
}

// One operation on every tensor of the lists: reads them, writes as much as the first.
std::optional<OperatorCost> foreach (const Args& args, const Entry& entry) {
  if (!typed(args.list(0))) return std::nullopt;
  const CallInput& first = args.first(1)[0];
  OperatorCost cost;
  for (std::size_t i = 0; i < args.count(); ++i) cost.read += args.bytes(i);
  cost.written = first.bytes();
  cost.flops = entry.flops * static_cast<double>(first.elements());
  cost.dtype = first.items[0].dtype;
  cost.geometry = describe_list(first);
  return cost;
}

// _foreach_copy_(to, from)
std::optional<OperatorCost> foreach_copy(const Args& args, const Entry&) {
  if (!typed(args.list(0)) || !typed(args.list(1))) return std::nullopt;
  return OperatorCost{0, args.bytes(1), args.bytes(0), args.list(1)[0].dtype,
                      describe_list(args.first(1)[0])};
}

// _foreach_zero_(list)
std::optional<OperatorCost> foreach_fill(const Args& args, const Entry&) {
  if (!typed(args.list(0))) return std::nullopt;
  return OperatorCost{0, 0, args.bytes(0), args.list(0)[0].dtype, describe_list(args.first(1)[0])};
}

// _foreach_norm(list, order): one number a tensor
std::optional<OperatorCost> foreach_norm(const Args& args, const Entry& entry) {
  const auto list = args.list(0);
  if (!typed(list)) return std::nullopt;
  const CallInput& first = args.first(1)[0];
  return OperatorCost{entry.flops * static_cast<double>(first.elements()), first.bytes(),
                      static_cast<double>(list.size() * dtype_size(list[0].dtype)), list[0].dtype,
                      describe_list(first)};
}

constexpr Entry kOptimizerTable[] = {
    // (parameters, gradients, first moments, second moments, their maxima, steps, …).
    // m + (1−β₁)(g − m): 3; β₂v + (1−β₂)g²: 4; √v/c + ε: 3; p − α·m/d: 3; decay: 2
    {"_fused_adam", kPointwise, fused, 15, 5},
    {"_fused_adamw", kPointwise, fused, 15, 5},
    // (parameters, gradients, momentum, …): µb + g: 2; p − α·b: 2; decay: 2
    {"_fused_sgd", kPointwise, fused, 6, 3},
    // (parameters, gradients, state sums, …)
    {"_fused_adagrad", kPointwise, fused, 7, 3},
    {"_foreach_add", kPointwise, foreach, 1},
    {"_foreach_sub", kPointwise, foreach, 1},
    {"_foreach_mul", kPointwise, foreach, 1},
    {"_foreach_div", kPointwise, foreach, 1},
    {"_foreach_neg", kPointwise, foreach, 1},
    {"_foreach_abs", kPointwise, foreach, 1},
    {"_foreach_sqrt", kPointwise, foreach, 1},
    {"_foreach_rsqrt", kPointwise, foreach, 2},
    {"_foreach_reciprocal", kPointwise, foreach, 1},
    {"_foreach_pow", kPointwise, foreach, 1},
    {"_foreach_maximum", kPointwise, foreach, 1},
    {"_foreach_clamp_max", kPointwise, foreach, 1},
    {"_foreach_clamp_min", kPointwise, foreach, 1},
    {"_foreach_lerp", kPointwise, foreach, 3},
    {"_foreach_addcmul", kPointwise, foreach, 3},
    {"_foreach_addcdiv", kPointwise, foreach, 3},
    {"_foreach_copy", kPointwise, foreach_copy},
    {"_foreach_zero", kMovement, foreach_fill},
    {"_foreach_norm", kReduction, foreach_norm, 2},
    {"_amp_foreach_non_finite_check_and_unscale", kPointwise, foreach, 2},
};

}  // namespace

std::span<const Entry> optimizer_operators() { return kOptimizerTable; }

}  // namespace hone::trace::aten
