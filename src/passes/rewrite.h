// What rewrites share: looking around in a GraphBuilder, and making groups. No pass's own pattern lives here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/builder.h"
#include "graph/group_kind.h"
#include "graph/op_table.h"
#include "passes/pass.h"

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

// The input of a two-input node that is not `value`; nullopt if both or neither are.
std::optional<ValueId> other_operand(const Node& node, ValueId value);
// The operand of a commutative node beside its one scalar constant, and that scalar.
struct ScalarOperand {
  ValueId value;
  double scalar = 0;
};
std::optional<ScalarOperand> scalar_operand(const GraphBuilder& builder, const Node& node);

bool is_class(const Node& node, graph::OpClass op_class);

// A known, positive extent of a value's type along `axis` (negative counts from the end); nullopt if not
// known.
std::optional<int64_t> extent(const GraphBuilder& builder, ValueId value, int64_t axis);

// A group that could take the place of `nodes`: a hone.Fused node whose body they are, not yet in the graph.
struct Group {
  std::vector<NodeId> nodes;
  Node node;                     // its inputs are values of the builder; it has no outputs yet
  std::vector<ValueId> results;  // values of the builder that leave the group, one an output of its body
};

// `nodes` are topologically ordered. Inputs are what they read from outside, in order of first use; outputs
// what is read outside, in order of production. A product's group has the product's name, others that of
// their last node. Errors only for bugs.
Result<Group> make_group(const GraphBuilder& builder, std::span<const NodeId> nodes, graph::GroupKind kind);
// Whether the target has a kernel for the group; without one to ask: yes.
bool runs_group(const Target& target, const GraphBuilder& builder, const Group& group);
// Puts the group where its nodes are.
Result<NodeId> put_group(GraphBuilder& builder, Group group);
// Both, without asking.
Result<NodeId> fuse(GraphBuilder& builder, std::span<const NodeId> nodes, graph::GroupKind kind);

// A graph of nothing but `node`, which is what a target is asked about. `inputs`: the values that it reads,
// null where absent; constants stay constants, all others become inputs of the types given, one a value.
Result<graph::Graph> graph_of_one(const Node& node, std::span<const graph::Value* const> inputs,
                                  std::span<const graph::TensorType> types,
                                  std::span<const std::string> output_names);
// Whether the target has a kernel for `node`, whose values are the graph's, by itself; without one to ask: no.
bool runs_alone(const Target& target, const graph::Graph& graph, const Node& node);
bool runs_alone(const Target& target, const GraphBuilder& builder, const Node& node);
// The same for the node with its f32 inputs in `type`.
bool runs_alone_in(const Target& target, const graph::Graph& graph, const Node& node, DType type);

}  // namespace hone::passes
