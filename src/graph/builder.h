// GraphBuilder: makes a Graph, from nothing (frontends, zoo) or from another Graph (passes). Ids handed out
// by a builder are valid for that builder only; finish() sorts topologically, drops what nothing uses, and
// renumbers. References to nodes, values and types stay valid until finish(): adding moves none of them, and
// what changes a node is seen through them. Not for several threads at once.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::graph {

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name);
  // Starts as a copy of `source`: its ids stay valid in this builder.
  explicit GraphBuilder(const Graph& source);

  // --- making ---
  ValueId input(std::string name, TensorType type);
  ValueId constant(std::string name, Tensor data);
  // A node with one output whose type the operator table infers. Throws BuildError on a type error: code that
  // builds graphs from untrusted data uses try_add().
  ValueId add(std::string op, std::vector<ValueId> inputs, Attributes attributes = {}, std::string name = {});
  // A node with as many outputs as `outputs` counts.
  std::vector<ValueId> add_many(std::string op, std::vector<ValueId> inputs, std::size_t outputs,
                                Attributes attributes = {}, std::string name = {});
  // A node given whole. `node.outputs` is filled here: a new value for each name in `output_names`, kNoValue
  // for "". Types are inferred; declared types, where given, are merged in.
  Result<std::vector<ValueId>> try_add(Node node, std::span<const std::string> output_names,
                                       std::span<const TensorType> declared = {});
  void output(ValueId value);
  // Other outputs than before: no input has a next value among them until it is said anew.
  void set_outputs(std::vector<ValueId> values);
  // Adds `next` to the outputs, as the next value of `input`, which must be an input of the graph
  // (std::logic_error).
  void next_value(ValueId input, ValueId next);
  // For who rebuilds a graph with the interface of another: that one's pairs.
  void set_states(std::vector<StatePair> states) { states_ = std::move(states); }

  // --- changing ---
  // Every reader of `old`, outputs of the graph included, reads `replacement` instead. The name of a graph
  // output moves to the replacement, so that the model's interface stays as it was.
  void replace_all_uses(ValueId old, ValueId replacement);
  void replace_input(NodeId node, std::size_t input, ValueId replacement);
  void append_input(NodeId node, ValueId value);
  void erase(NodeId node);  // its outputs must have no readers left when finish() comes
  Node& mutable_node(NodeId node) { return nodes_[node.index]; }
  void set_type(ValueId value, TensorType type) { values_[value.index].type = std::move(type); }
  // The value becomes a constant; its producer is dropped if nothing else of it is used.
  void set_constant(ValueId value, Tensor data);
  void rename(ValueId value, std::string name);  // made unique if taken
  void swap_names(ValueId a, ValueId b) {
    if (a != b) std::swap(values_[a.index].name, values_[b.index].name);
  }
  // Nodes added from here on stand for these: they take their provenance, and the place of the last of them
  // in the order of the finished graph. Empty: new nodes stand for themselves again, at the end.
  void replacing(std::span<const NodeId> nodes);
  void replacing(std::initializer_list<NodeId> nodes) { replacing(std::span(nodes.begin(), nodes.size())); }
  // `node` stands in the order where `like` stands.
  void set_position(NodeId node, NodeId like) { positions_[node.index] = positions_[like.index]; }
  // The finished graph has its nodes in this order, as far as reading after writing allows; all nodes are
  // named.
  void reorder(std::span<const NodeId> order);

  // --- looking ---
  const std::deque<Node>& nodes() const { return nodes_; }  // erased nodes stay, with an empty op
  bool erased(NodeId node) const { return nodes_[node.index].op.empty(); }
  const Node& node(NodeId id) const { return nodes_[id.index]; }
  const Value& value(ValueId id) const { return values_[id.index]; }
  const TensorType& type(ValueId id) const { return values_[id.index].type; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<StatePair>& states() const { return states_; }
  // The node that produces `value`, or null for inputs and constants.
  const Node* producer(ValueId value) const;
  // The nodes that read `value`, each once. Kept up to date by every change: O(readers).
  std::vector<NodeId> users(ValueId value) const;
  bool is_output(ValueId value) const;
  std::string unique_name(const std::string& wanted);

  // The finished graph. An error for a cycle or a reader of an erased node's output. `keep_dead` keeps unused
  // nodes. What else makes a graph valid is the verifier's (verify.h).
  Result<Graph> finish(bool keep_dead = false) &&;

 private:
  static constexpr uint32_t kAtEnd = 0xffffffffu;
  NodeId append(Node node);
  ValueId add_identity(ValueId source);
  void add_user(ValueId value, NodeId node);
  void remove_user(ValueId value, NodeId node);

  std::string name_;
  std::deque<Node> nodes_;  // deques, because references into them are handed out
  std::deque<Value> values_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::vector<StatePair> states_;  // positions stay what they are: only set_outputs() moves outputs
  std::vector<std::vector<NodeId>> users_;
  std::vector<uint32_t> positions_;                  // of each node in the wanted order
  std::vector<std::string> provenance_;              // of nodes to be added
  uint32_t position_ = kAtEnd;                       // of nodes to be added
  std::unordered_map<std::string, int> names_;       // names taken, of values
  std::unordered_map<std::string, int> node_names_;  // and of nodes
};

// Thrown by GraphBuilder::add(): a frontend of ours built something wrong.
class BuildError : public std::exception {
 public:
  explicit BuildError(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

}  // namespace hone::graph
