// What rewrites share: looking around in a GraphBuilder, and making groups. No pass's own pattern lives here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/builder.h"
#include "graph/op_table.h"

namespace hone::passes {

using graph::GraphBuilder;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// The node that produces `value`, if it is an `op` (and not erased).
std::optional<NodeId> produced_by(const GraphBuilder& builder, ValueId value, std::string_view op);

// The only node that reads `value`, if there is exactly one and the graph does not give the value out.
std::optional<NodeId> only_reader(const GraphBuilder& builder, ValueId value);

// The data of a constant; null otherwise.
const Tensor* constant_data(const GraphBuilder& builder, ValueId value);
// The one element of a constant float or integer of size 1.
std::optional<double> scalar_constant(const GraphBuilder& builder, ValueId value);
// The elements of a constant integer tensor of rank 0 or 1.
std::optional<std::vector<int64_t>> int_constant(const GraphBuilder& builder, ValueId value);
// |a − b| within float rounding of b: constants that exporters rounded differently.
bool nearly(double a, double b);

// Of a two-input node: the input that is not `value`; nullopt if both or neither are.
std::optional<ValueId> other_operand(const Node& node, ValueId value);
// Of a commutative node with one scalar constant operand: the other one and the scalar.
struct ScalarOperand {
  ValueId value;
  double scalar = 0;
};
std::optional<ScalarOperand> scalar_operand(const GraphBuilder& builder, const Node& node);

bool is_class(const Node& node, graph::OpClass op_class);

// A known, positive extent of a value's type along `axis` (negative counts from the end); nullopt if not
// known.
std::optional<int64_t> extent(const GraphBuilder& builder, ValueId value, int64_t axis);

// Replaces `nodes` (topologically ordered) by one hone.Fused node of this kind whose body they become. Inputs
// are what they read from outside, in order of first use; outputs what is read outside, in order of
// production. A product's group has the product's name, others that of their last node. Errors only for bugs.
Result<NodeId> fuse(GraphBuilder& builder, std::span<const NodeId> nodes, const std::string& kind);

}  // namespace hone::passes
