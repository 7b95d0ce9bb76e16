#include "graph/builder.h"

#include <algorithm>
#include <queue>
#include <stdexcept>

#include <fmt/core.h>

#include "graph/op_table.h"

namespace hone::graph {

namespace {

// Names that count as taken; the number is where the search for a free suffix goes on.
std::string claim(std::unordered_map<std::string, int>& taken, const std::string& wanted) {
  auto [it, fresh] = taken.emplace(wanted, 1);
  if (fresh) return wanted;
  for (int& next = it->second;; ++next) {
    std::string candidate = fmt::format("{}_{}", wanted, next);
    if (taken.contains(candidate)) continue;
    ++next;
    taken.emplace(candidate, 1);
    return candidate;
  }
}

std::string lower_stem(const std::string& op) {
  std::string stem = op.substr(op.rfind('.') + 1);
  std::transform(stem.begin(), stem.end(), stem.begin(), [](unsigned char c) { return std::tolower(c); });
  return stem;
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name) : name_(std::move(name)) {}

GraphBuilder::GraphBuilder(const Graph& source)
    : name_(source.name_),
      nodes_(source.nodes_.begin(), source.nodes_.end()),
      values_(source.values_.begin(), source.values_.end()),
      inputs_(source.inputs_),
      outputs_(source.outputs_),
      states_(source.states_),
      users_(source.users_) {
  for (const Value& value : values_) names_.emplace(value.name, 1);
  for (const Node& node : nodes_) {
    node_names_.emplace(node.name, 1);
    positions_.push_back(static_cast<uint32_t>(positions_.size()));
  }
}

void GraphBuilder::replacing(std::span<const NodeId> nodes) {
  provenance_.clear();
  position_ = nodes.empty() ? kAtEnd : 0;
  for (NodeId id : nodes) {
    for (const std::string& name : nodes_[id.index].provenance) {
      if (std::find(provenance_.begin(), provenance_.end(), name) == provenance_.end())
        provenance_.push_back(name);
    }
    position_ = std::max(position_, positions_[id.index]);
  }
}

void GraphBuilder::reorder(std::span<const NodeId> order) {
  for (uint32_t i = 0; i < order.size(); ++i) positions_[order[i].index] = i;
}

std::string GraphBuilder::unique_name(const std::string& wanted) { return claim(names_, wanted); }

ValueId GraphBuilder::input(std::string name, TensorType type) {
  Value value;
  value.name = unique_name(name);
  value.type = std::move(type);
  values_.push_back(std::move(value));
  users_.emplace_back();
  inputs_.push_back(ValueId{static_cast<uint32_t>(values_.size() - 1)});
  return inputs_.back();
}

ValueId GraphBuilder::constant(std::string name, Tensor data) {
  Value value;
  value.name = unique_name(name);
  value.type = tensor_type(data.dtype(), data.shape());
  value.constant = std::move(data);
  values_.push_back(std::move(value));
  users_.emplace_back();
  return ValueId{static_cast<uint32_t>(values_.size() - 1)};
}

ValueId GraphBuilder::add(std::string op, std::vector<ValueId> inputs, Attributes attributes,
                          std::string name) {
  return add_many(std::move(op), std::move(inputs), 1, std::move(attributes), std::move(name)).front();
}

std::vector<ValueId> GraphBuilder::add_many(std::string op, std::vector<ValueId> inputs, std::size_t outputs,
                                            Attributes attributes, std::string name) {
  Node node;
  node.op = std::move(op);
  node.name = name.empty() ? lower_stem(node.op) : std::move(name);
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) {
    names.push_back(i == 0 ? node.name + ".out" : fmt::format("{}.out{}", node.name, i));
  }
  const std::string label = fmt::format("node '{}' ({})", node.name, node.op);
  auto ids = try_add(std::move(node), names);
  if (!ids.ok()) throw BuildError(label + ": " + ids.error().message);
  return *std::move(ids);
}

Result<std::vector<ValueId>> GraphBuilder::try_add(Node node, std::span<const std::string> output_names,
                                                   std::span<const TensorType> declared) {
  std::vector<const Value*> inputs;
  for (ValueId id : node.inputs) inputs.push_back(id.valid() ? &values_[id.index] : nullptr);
  node.outputs.assign(output_names.size(), ValueId{0});  // inference sees how many there are
  for (std::size_t i = 0; i < output_names.size(); ++i) {
    if (output_names[i].empty()) node.outputs[i] = kNoValue;
  }
  HONE_ASSIGN(std::vector<TensorType> types, infer_types(node, std::move(inputs)));
  for (std::size_t i = 0; i < declared.size() && i < types.size(); ++i) {
    HONE_ASSIGN(types[i], merge_types(declared[i], types[i]));
  }

  node.name = claim(node_names_, node.name.empty() ? lower_stem(node.op) : node.name);
  if (node.provenance.empty()) node.provenance = provenance_.empty() ? std::vector{node.name} : provenance_;
  const NodeId id{static_cast<uint32_t>(nodes_.size())};
  for (std::size_t i = 0; i < output_names.size(); ++i) {
    if (output_names[i].empty()) continue;
    Value value;
    value.name = unique_name(output_names[i]);
    value.type = types[i];
    value.producer = id;
    value.output_index = static_cast<uint32_t>(i);
    node.outputs[i] = ValueId{static_cast<uint32_t>(values_.size())};
    values_.push_back(std::move(value));
    users_.emplace_back();
  }
  std::vector<ValueId> outputs = node.outputs;
  append(std::move(node));
  return outputs;
}

NodeId GraphBuilder::append(Node node) {
  const NodeId id{static_cast<uint32_t>(nodes_.size())};
  for (ValueId input : node.inputs) {  // a new node can only be the last of a value's users: no search
    if (!input.valid()) continue;
    auto& users = users_[input.index];
    if (users.empty() || users.back() != id) users.push_back(id);
  }
  nodes_.push_back(std::move(node));
  positions_.push_back(position_ == kAtEnd ? id.index : position_);
  return id;
}

void GraphBuilder::output(ValueId value) { outputs_.push_back(value); }
void GraphBuilder::set_outputs(std::vector<ValueId> values) {
  outputs_ = std::move(values);
  states_.clear();
}

void GraphBuilder::next_value(ValueId input, ValueId next) {
  const auto found = std::find(inputs_.begin(), inputs_.end(), input);
  if (found == inputs_.end()) throw std::logic_error("only an input of the graph has a next value");
  states_.push_back({static_cast<uint32_t>(found - inputs_.begin()), static_cast<uint32_t>(outputs_.size())});
  outputs_.push_back(next);
}

void GraphBuilder::add_user(ValueId value, NodeId node) {
  if (!value.valid()) return;
  auto& users = users_[value.index];
  if (std::find(users.begin(), users.end(), node) == users.end()) users.push_back(node);
}

void GraphBuilder::remove_user(ValueId value, NodeId node) {
  if (!value.valid()) return;
  std::erase(users_[value.index], node);
}

void GraphBuilder::replace_all_uses(ValueId old, ValueId replacement) {
  if (old == replacement) return;
  for (NodeId user : std::vector<NodeId>(users_[old.index])) {
    for (ValueId& input : nodes_[user.index].inputs) {
      if (input == old) input = replacement;
    }
    add_user(replacement, user);
  }
  users_[old.index].clear();
  if (!is_output(old)) return;
  // The model's interface keeps its names: the replacement takes the name over, unless it is part of the
  // interface itself or a constant; then an Identity carries the name.
  const bool nameable = producer(replacement) != nullptr && !is_output(replacement);
  const ValueId carrier = nameable ? replacement : add_identity(replacement);
  for (ValueId& output : outputs_) {
    if (output == old) output = carrier;
  }
  std::swap(values_[old.index].name, values_[carrier.index].name);
}

ValueId GraphBuilder::add_identity(ValueId source) {
  Node node;
  node.op = "Identity";
  node.name = claim(node_names_, "identity");
  node.inputs = {source};
  node.provenance = provenance_.empty() ? std::vector{node.name} : provenance_;
  Value value;
  value.name = unique_name("identity.out");
  value.type = values_[source.index].type;
  value.producer = NodeId{static_cast<uint32_t>(nodes_.size())};
  const ValueId id{static_cast<uint32_t>(values_.size())};
  node.outputs = {id};
  values_.push_back(std::move(value));
  users_.emplace_back();
  append(std::move(node));
  return id;
}

void GraphBuilder::replace_input(NodeId node, std::size_t input, ValueId replacement) {
  const ValueId old = nodes_[node.index].inputs[input];
  nodes_[node.index].inputs[input] = replacement;
  const auto& inputs = nodes_[node.index].inputs;
  if (old.valid() && std::find(inputs.begin(), inputs.end(), old) == inputs.end()) remove_user(old, node);
  add_user(replacement, node);
}

void GraphBuilder::append_input(NodeId node, ValueId value) {
  nodes_[node.index].inputs.push_back(value);
  add_user(value, node);
}

void GraphBuilder::erase(NodeId node) {
  for (ValueId input : nodes_[node.index].inputs) remove_user(input, node);
  nodes_[node.index].op.clear();
  node_names_.erase(nodes_[node.index].name);  // whatever replaces it may take its name
}

void GraphBuilder::set_constant(ValueId value, Tensor data) {
  Value& v = values_[value.index];
  v.type = tensor_type(data.dtype(), data.shape());
  v.constant = std::move(data);
  const NodeId producer = v.producer;
  v.producer = NodeId{};
  v.output_index = 0;
  if (!producer.valid()) return;
  bool used = false;
  for (ValueId& output : nodes_[producer.index].outputs) {
    if (output == value) output = kNoValue;
    used = used || output.valid();
  }
  if (!used) erase(producer);
}

void GraphBuilder::rename(ValueId value, std::string name) {
  if (values_[value.index].name == name) return;
  values_[value.index].name = unique_name(name);
}

const Node* GraphBuilder::producer(ValueId value) const {
  const NodeId id = values_[value.index].producer;
  return id.valid() ? &nodes_[id.index] : nullptr;
}

std::vector<NodeId> GraphBuilder::users(ValueId value) const { return users_[value.index]; }

bool GraphBuilder::is_output(ValueId value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

namespace {

// Nodes that something needs: the outputs' producers and theirs, and whatever is not pure.
std::vector<bool> find_live(const std::deque<Node>& nodes, const std::deque<Value>& values,
                            const std::vector<ValueId>& outputs, bool keep_dead) {
  std::vector<bool> live(nodes.size(), false);
  std::vector<uint32_t> stack;
  auto visit = [&](ValueId id) {
    if (!id.valid() || !values[id.index].producer.valid()) return;
    const uint32_t producer = values[id.index].producer.index;
    if (live[producer]) return;
    live[producer] = true;
    stack.push_back(producer);
  };
  for (ValueId output : outputs) visit(output);
  for (uint32_t i = 0; keep_dead && i < nodes.size(); ++i) {
    if (nodes[i].op.empty() || live[i]) continue;
    live[i] = true;
    stack.push_back(i);
  }
  while (!stack.empty()) {
    const uint32_t node = stack.back();
    stack.pop_back();
    for (ValueId input : nodes[node].inputs) visit(input);
  }
  return live;
}

// Kahn's algorithm; among the ready nodes the one with the lowest position (then the one added first) comes
// first, so that an unchanged graph keeps its order.
Result<std::vector<uint32_t>> topological_order(const std::deque<Node>& nodes,
                                                const std::deque<Value>& values,
                                                const std::vector<uint32_t>& positions,
                                                const std::vector<bool>& live) {
  std::vector<uint32_t> waiting(nodes.size(), 0);
  std::vector<std::vector<uint32_t>> readers(nodes.size());
  using Entry = std::pair<uint32_t, uint32_t>;  // position, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::size_t live_count = 0;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (!live[i]) continue;
    ++live_count;
    for (ValueId input : nodes[i].inputs) {
      if (!input.valid() || !values[input.index].producer.valid()) continue;
      readers[values[input.index].producer.index].push_back(i);
      ++waiting[i];
    }
    if (waiting[i] == 0) ready.emplace(positions[i], i);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    const uint32_t node = ready.top().second;
    ready.pop();
    order.push_back(node);
    for (uint32_t reader : readers[node]) {
      if (--waiting[reader] == 0) ready.emplace(positions[reader], reader);
    }
  }
  if (order.size() == live_count) return order;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (live[i] && waiting[i] > 0) {
      return invalid(fmt::format("node '{}' ({}) is on a cycle or reads one: a graph must be acyclic",
                                 nodes[i].name, nodes[i].op));
    }
  }
  return order;
}

}  // namespace

Result<Graph> GraphBuilder::finish(bool keep_dead) && {
  const std::vector<bool> live = find_live(nodes_, values_, outputs_, keep_dead);
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (live[i] && nodes_[i].op.empty()) {
      return invalid(fmt::format("node '{}' was erased, but its output is still read", nodes_[i].name));
    }
  }
  HONE_ASSIGN(const std::vector<uint32_t> order, topological_order(nodes_, values_, positions_, live));

  Graph graph;
  graph.name_ = std::move(name_);
  std::vector<ValueId> renumbered(values_.size());
  auto take = [&](ValueId id) {
    if (!id.valid() || renumbered[id.index].valid()) return;
    renumbered[id.index] = ValueId{static_cast<uint32_t>(graph.values_.size())};
    graph.values_.push_back(std::move(values_[id.index]));
    graph.users_.emplace_back();
  };
  auto renumber = [&](ValueId id) { return id.valid() ? renumbered[id.index] : kNoValue; };

  for (ValueId input : inputs_) take(input);
  for (uint32_t index : order) {
    Node node = std::move(nodes_[index]);
    const NodeId id{static_cast<uint32_t>(graph.nodes_.size())};
    for (ValueId& input : node.inputs) {
      take(input);  // constants; everything else came before
      input = renumber(input);
      if (!input.valid()) continue;
      auto& users = graph.users_[input.index];
      if (users.empty() || users.back() != id) users.push_back(id);
    }
    for (ValueId& output : node.outputs) {
      take(output);
      output = renumber(output);
      if (output.valid()) graph.values_[output.index].producer = id;
    }
    graph.nodes_.push_back(std::move(node));
  }
  for (ValueId output : outputs_) {
    take(output);  // a constant may be an output
    graph.outputs_.push_back(renumber(output));
  }
  for (ValueId input : inputs_) graph.inputs_.push_back(renumber(input));
  graph.states_ = std::move(states_);
  return graph;
}

}  // namespace hone::graph
