// A normalisation of rows or its gradient, alone or as a group of kind "normalization": which of the plan's inputs are read, and
// where its first result goes.
#pragma once

#include <optional>

#include "runtime/lower/group_view.h"

namespace hone::runtime::cuda_kernels {

struct NormalizationForm {
  std::optional<std::size_t> added;   // input that is added to the first result
  std::optional<std::size_t> stored;  // output that has it in its own type
  std::optional<std::size_t> narrow;  // output that has it in f16 or bf16
  DType narrow_type = DType::kUndefined;
};

// nullopt where the group holds what no kernel does, or gives out what is only on its way.
inline std::optional<NormalizationForm> normalization_form(const GroupView& group) {
  NormalizationForm form;
  graph::ValueId value = group.anchor().outputs[0];
  for (const graph::Node& node : group.nodes().subspan(1)) {
    if (node.op == "Cast") {
      form.narrow = group.output_index(node.outputs[0]);
      form.narrow_type = group.type(node.outputs[0]).dtype;
      if (!form.narrow || node.inputs[0] != value) return std::nullopt;
      continue;
    }
    if (node.op != "Add" || group.output_index(value) ||
        (node.inputs[0] == value) == (node.inputs[1] == value))
      return std::nullopt;
    const graph::ValueId other = node.inputs[node.inputs[0] == value ? 1 : 0];
    form.added = group.input_index(other);
    if (!form.added || group.type(other) != group.type(value)) return std::nullopt;
    value = node.outputs[0];
  }
  form.stored = group.output_index(value);
  return form;
}

}  // namespace hone::runtime::cuda_kernels
