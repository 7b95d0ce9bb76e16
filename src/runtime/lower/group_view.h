// One way to look at a single operator and at a fused group (hone.Fused): its operators in order, and which
// input of the plan's node each value that they read is.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/group_kind.h"
#include "runtime/lower/lower.h"

namespace hone::runtime {

class GroupView {
 public:
  explicit GroupView(const LowerContext& context);

  bool is_group() const { return kind_.has_value(); }
  std::optional<graph::GroupKind> kind() const { return kind_; }  // nullopt for a single operator
  const graph::Graph& graph() const { return *graph_; }           // the body, or the graph itself
  std::span<const graph::Node> nodes() const { return nodes_; }
  const graph::Node& anchor() const { return nodes_.front(); }
  const graph::Node& last() const { return nodes_.back(); }

  // Which input of the plan's node `value` is; nullopt if an operator of the group computes it.
  std::optional<std::size_t> input_index(graph::ValueId value) const;
  // The data of a value that is a constant outside; null otherwise.
  const Tensor* constant(graph::ValueId value) const;
  const graph::TensorType& type(graph::ValueId value) const { return graph_->type(value); }
  // Which output of the plan's node `value` is; nullopt where nothing outside reads it.
  std::optional<std::size_t> output_index(graph::ValueId value) const;

 private:
  const LowerContext& context_;
  const graph::Graph* graph_;
  std::span<const graph::Node> nodes_;
  std::optional<graph::GroupKind> kind_;
};

}  // namespace hone::runtime
