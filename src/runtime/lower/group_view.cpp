#include "runtime/lower/group_view.h"

#include <algorithm>

namespace hone::runtime {

using graph::Node;
using graph::ValueId;

GroupView::GroupView(const LowerContext& context)
    : context_(context), graph_(&context.graph), nodes_(&context.node, 1) {
  kind_ = graph::group_kind(context.node);
  if (kind_) {
    graph_ = context.node.bodies[0].get();
    nodes_ = graph_->nodes();
  }
}

std::optional<std::size_t> GroupView::input_index(ValueId value) const {
  const std::vector<ValueId>& inputs = !kind_ ? context_.node.inputs : graph_->inputs();
  const auto at = std::find(inputs.begin(), inputs.end(), value);
  if (at == inputs.end()) return std::nullopt;
  return static_cast<std::size_t>(at - inputs.begin());
}

std::optional<std::size_t> GroupView::output_index(ValueId value) const {
  const std::vector<ValueId>& outputs = !kind_ ? context_.node.outputs : graph_->outputs();
  const auto at = std::find(outputs.begin(), outputs.end(), value);
  if (!value.valid() || at == outputs.end()) return std::nullopt;
  return static_cast<std::size_t>(at - outputs.begin());
}

const Tensor* GroupView::constant(ValueId value) const {
  if (!value.valid()) return nullptr;
  if (graph_->value(value).is_constant()) return &*graph_->value(value).constant;
  const auto index = input_index(value);
  return index ? context_.constant(*index) : nullptr;
}

}  // namespace hone::runtime
