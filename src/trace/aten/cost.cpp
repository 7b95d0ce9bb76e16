#include "trace/aten/cost.h"

#include <algorithm>

#include "trace/aten/table.h"
#include "trace/aten/triton.h"

namespace hone::trace::aten {
namespace {

struct Kind {
  std::string_view base;
  bool in_place = false;
};

// "aten::add_" → "add", in place. "prims" are the primitives that operators decompose into.
std::optional<Kind> base_kind(std::string_view kind) {
  for (std::string_view space : {std::string_view("aten::"), std::string_view("prims::")}) {
    if (!kind.starts_with(space)) continue;
    kind.remove_prefix(space.size());
    if (find_entry(kind) != nullptr || !kind.ends_with('_')) return Kind{kind, false};
    return Kind{kind.substr(0, kind.size() - 1), true};
  }
  return Kind{kind, false};
}

}  // namespace

std::optional<CallCost> call_cost(std::string_view kind, std::span<const CallInput> inputs) {
  if (is_triton(kind)) return triton_cost(kind, inputs);
  const auto base = base_kind(kind);
  const Entry* entry = base ? find_entry(base->base) : nullptr;
  if (entry == nullptr || entry->rule == nullptr) return std::nullopt;
  auto cost = entry->rule(Args(inputs, base->in_place), *entry);
  if (!cost || !(cost->flops >= 0) || !(cost->read >= 0) || !(cost->written >= 0)) return std::nullopt;
  const bool decided = cost->op_class != OperatorClass::kOther;
  return CallCost{decided ? cost->op_class : entry->op_class,
                  cost->dtype,
                  cost->flops,
                  cost->read,
                  cost->written,
                  std::move(cost->geometry),
                  cost->result};
}

double copies_of_each(const CallInput& to, const CallInput& from) {
  const double stored = from.stored_elements();
  return stored > 0 ? std::max(1.0, static_cast<double>(to.elements()) / stored) : 1;
}

OperatorClass class_of_kind(std::string_view kind) {
  if (is_triton(kind)) return triton_class(kind);
  const auto base = base_kind(kind);
  const Entry* entry = base ? find_entry(base->base) : nullptr;
  return entry == nullptr ? OperatorClass::kOther : entry->op_class;
}

}  // namespace hone::trace::aten
