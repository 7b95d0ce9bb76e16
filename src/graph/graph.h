// The graph: SSA values and nodes in topological order. A Graph is an immutable value: passes build a new one
// with GraphBuilder (builder.h). What each operator means is in the operator table (op_table.h); what makes a
// graph valid is in the verifier (verify.h).
//
// Conventions
// - Operators are those of ONNX at one canonical opset (kCanonicalOpset): frontends upgrade older forms.
//   Operators of the default domain stand under their plain name ("Conv"), others under "domain.Name"; hone's
//   own are "hone.Name".
// - Constants are values with data, not nodes.
// - State (parameters, moments of an optimizer, running statistics, the offset of a random stream) is an input
//   that is paired with the output that is its next value: Graph::states(). The graph itself stays pure: who
//   runs it decides whether the next value is given back in the next step. A plan does so, in place.
// - Sub-graphs (bodies of If, Loop, Scan and hone.Fused) are closed: what a body uses from outside is an
//   explicit input of the node, after its formal ones, and an input of the body, after its formal ones
//   (Node::captures counts them).
// - hone.Fused is a group of operators that one kernel executes. Its body holds the operators themselves, so
//   its meaning, its FLOPs and its form in ONNX follow from the body; attribute "kind" says what it may
//   hold (group_kind.h).
// - An operator that a plugin brought stands in no table: each of its nodes carries what it is (Node::custom), so two
//   graphs of one process may know different operators, and none is known to graphs that did not ask for it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/attributes.h"
#include "core/ids.h"
#include "graph/type.h"

namespace hone::graph {

inline constexpr int kCanonicalOpset = 23;

struct ValueTag;
struct NodeTag;
using ValueId = Id<ValueTag>;         // index into Graph::values()
using NodeId = Id<NodeTag>;           // index into Graph::nodes()
inline constexpr ValueId kNoValue{};  // an optional input or output that is absent

class Graph;
struct CustomOperator;  // custom_operator.h

struct Value {
  std::string name;  // unique within its graph, never empty
  TensorType type;
  std::optional<Tensor> constant;  // data known before the graph runs (weights, shape constants)
  NodeId producer;                 // invalid for inputs and constants
  uint32_t output_index = 0;       // which output of the producer

  bool is_constant() const { return constant.has_value(); }
};

struct Node {
  std::string op;
  std::string name;  // unique within its graph; may be shown to the user
  Attributes attributes;
  std::vector<ValueId> inputs;   // kNoValue where an optional input is absent
  std::vector<ValueId> outputs;  // kNoValue where an optional output is not wanted
  std::vector<std::shared_ptr<const Graph>> bodies;
  uint32_t captures = 0;  // how many of the last inputs are captures of the bodies
  // Names of the nodes of the user's model that this node stands for; never empty once a frontend or pass
  // made it.
  std::vector<std::string> provenance;
  std::shared_ptr<const CustomOperator> custom;  // what a plugin says of `op`; null: op_table() knows it

  bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i].valid(); }
  bool has_output(std::size_t i) const { return i < outputs.size() && outputs[i].valid(); }
};

// An input and the output that is its next value, by their positions in Graph::inputs() and
// Graph::outputs(): positions are the graph's interface, which passes leave as it is, ids are not.
struct StatePair {
  uint32_t input = 0;
  uint32_t output = 0;
  friend bool operator==(const StatePair&, const StatePair&) = default;
};

class Graph {
 public:
  const std::string& name() const { return name_; }
  const std::vector<Node>& nodes() const { return nodes_; }  // in topological order
  const std::vector<Value>& values() const { return values_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }  // what a caller gives, in order
  const std::vector<ValueId>& outputs() const { return outputs_; }

  const Node& node(NodeId id) const { return nodes_[id.index]; }
  const Value& value(ValueId id) const { return values_[id.index]; }
  const TensorType& type(ValueId id) const { return values_[id.index].type; }
  ValueId find_value(std::string_view name) const;  // kNoValue if there is none; linear

  // The nodes that read `value`, each once, in order. Built at construction: O(1).
  const std::vector<NodeId>& users(ValueId value) const { return users_[value.index]; }
  bool is_output(ValueId value) const;

  // What lives from one step to the next. Each input and each output stands in at most one pair; both have
  // the same type. A step reads all its states before any of them changes: the order of pairs means nothing.
  const std::vector<StatePair>& states() const { return states_; }
  ValueId state_input(const StatePair& pair) const { return inputs_[pair.input]; }
  ValueId next_value(const StatePair& pair) const { return outputs_[pair.output]; }
  // The pair of an input or of an output, by its position; null if it is no state.
  const StatePair* state_of_input(std::size_t position) const;
  const StatePair* state_of_output(std::size_t position) const;

  // Symbols that occur in the types of the inputs, in order of appearance.
  std::vector<std::string> symbols() const;

 private:
  friend class GraphBuilder;
  std::string name_;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<StatePair> states_;
  std::vector<std::vector<NodeId>> users_;
};

}  // namespace hone::graph
