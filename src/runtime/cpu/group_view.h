// One way to look at a single operator and at a fused group (hone.Fused): its operators in order, and which
// input of the plan's node each value that they read is.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "kernels/cpu/dnnl/post_op.h"
#include "runtime/cpu/lower.h"

namespace hone::runtime::cpu {

class GroupView {
 public:
  explicit GroupView(const LowerContext& context);

  // "convolution", "matmul", "pointwise", … of a group; empty for a single operator.
  const std::string& kind() const { return kind_; }
  const graph::Graph& graph() const { return *graph_; }  // the body, or the graph itself
  const std::vector<graph::Node>& nodes() const { return *nodes_; }
  const graph::Node& anchor() const { return nodes()[first_]; }
  std::size_t first() const { return first_; }  // nodes()[first()] … [last()] are the operators
  std::size_t last() const { return last_; }

  // Which input of the plan's node `value` is; nullopt if an operator of the group computes it.
  std::optional<std::size_t> input_index(graph::ValueId value) const;
  // The data of a value that is a constant outside; null otherwise.
  const Tensor* constant(graph::ValueId value) const;
  const graph::TensorType& type(graph::ValueId value) const { return graph_->type(value); }

 private:
  const LowerContext& context_;
  const graph::Graph* graph_;
  const std::vector<graph::Node>* nodes_;
  std::string kind_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
};

// The operators behind the anchor, as a kernel's epilogue.
struct Epilogue {
  std::vector<kernels::PostOp> post_ops;
  std::vector<std::size_t> operand_inputs;  // of the plan's node, one for each binary post-op
};

// nullopt if the group holds something that no epilogue expresses. Operand shapes are those in the graph.
std::optional<Epilogue> read_epilogue(const GroupView& group);

}  // namespace hone::runtime::cpu
