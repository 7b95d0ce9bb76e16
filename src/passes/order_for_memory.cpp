#include "passes/order_for_memory.h"

#include <algorithm>

#include <fmt/core.h>

#include "core/units.h"
#include "passes/rewrite.h"

namespace hone::passes {
namespace {

using graph::BufferAssignment;
using graph::Graph;

std::size_t count_without_place(const Graph& graph) {
  return static_cast<std::size_t>(std::count_if(
      graph.values().begin(), graph.values().end(),
      [](const graph::Value& value) { return !value.is_constant() && !graph::has_place(value.type); }));
}

}  // namespace

std::ptrdiff_t buffer_bytes(const graph::TensorType& type) {
  if (!graph::has_place(type)) return 0;
  return static_cast<std::ptrdiff_t>((type.storage_bytes() + kTensorAlignment - 1) / kTensorAlignment *
                                     kTensorAlignment);
}

bool works_in_place(const Node& node) {
  return is_class(node, graph::OpClass::kPointwise) || is_class(node, graph::OpClass::kNormalization) ||
         node.op == "Softmax" || is_group(node, graph::GroupKind::kPointwise);
}

void put_states_in_place(const Graph& graph, BufferAssignment& buffers) {
  for (const graph::StatePair& pair : graph.states()) buffers.try_next_in_place(pair);
  for (const graph::StatePair& pair : graph.states()) {
    const graph::Value& next = graph.value(graph.next_value(pair));
    if (!next.producer.valid()) continue;
    const Node& node = graph.node(next.producer);
    if (!is_class(node, graph::OpClass::kOptimizer)) continue;
    const auto state = std::find(node.inputs.begin(), node.inputs.end(), graph.state_input(pair));
    if (state != node.inputs.end())
      buffers.try_in_place(next.producer, static_cast<std::size_t>(state - node.inputs.begin()),
                           next.output_index);
  }
}

namespace {

// List scheduling: of the operators whose operands are there, the one that adds the fewest bytes to what is
// alive comes next; of equals the one that came first in the given order. What reads a state before its next
// value is written stays before: otherwise the state could not be overwritten in place.
class Scheduler {
 public:
  explicit Scheduler(const Graph& graph)
      : graph_(graph),
        buffers_(graph),
        untouched_(graph.values().size(), 0),
        alive_(graph.values().size(), false),
        waiting_(graph.nodes().size(), 0),
        writers_(graph.nodes().size()) {
    for (const graph::StatePair& pair : graph.states()) find_writer(pair);
    put_states_in_place(graph, buffers_);
    for (ValueId input : graph.inputs()) hold(input);
    for (ValueId output : graph.outputs()) ++untouched_[root(output)];  // never the last to touch it
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      touched_.push_back(find_touched(NodeId{i}));
      for (uint32_t buffer : touched_.back()) ++untouched_[buffer];
      waiting_[i] += producers(NodeId{i});
      if (waiting_[i] == 0) ready_.push_back(NodeId{i});
    }
  }

  std::vector<NodeId> run() {
    std::vector<NodeId> order;
    while (!ready_.empty()) {
      // `ready_` is sorted: the first of the least is the first in the given order.
      const auto next = std::min_element(ready_.begin(), ready_.end(),
                                         [&](NodeId a, NodeId b) { return added(a) < added(b); });
      const NodeId id = *next;
      ready_.erase(next);
      order.push_back(id);
      for (uint32_t buffer : touched_[id.index]) {
        alive_[buffer] = true;
        --untouched_[buffer];
      }
      release_readers(id);
    }
    return order;
  }

 private:
  uint32_t root(ValueId value) const { return buffers_.place(value).root.index; }

  void hold(ValueId value) {
    alive_[root(value)] = true;
    ++untouched_[root(value)];
  }

  // The node that writes a state's next value waits for those that read the state before it.
  void find_writer(const graph::StatePair& pair) {
    const ValueId next = buffers_.place(graph_.next_value(pair)).root;
    if (!graph_.value(next).producer.valid()) return;
    const NodeId writer{buffers_.first_definition(next)};
    for (uint32_t i = 0; i < writer.index; ++i) {
      const auto& inputs = graph_.nodes()[i].inputs;
      const bool reads = std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
        return input.valid() && buffers_.place(input).root == graph_.state_input(pair);
      });
      if (!reads) continue;
      writers_[i].push_back(writer);
      ++waiting_[writer.index];
    }
  }

  // The buffers that a node reads or writes, each once; constants are no part of the arena.
  std::vector<uint32_t> find_touched(NodeId id) const {
    std::vector<uint32_t> found;
    for (const auto* values : {&graph_.node(id).inputs, &graph_.node(id).outputs}) {
      for (ValueId value : *values) {
        if (!value.valid() || graph_.values()[root(value)].is_constant()) continue;
        if (std::find(found.begin(), found.end(), root(value)) == found.end()) found.push_back(root(value));
      }
    }
    return found;
  }

  // How many nodes must run before this one.
  uint32_t producers(NodeId id) const {
    std::vector<NodeId> found;
    for (ValueId input : graph_.node(id).inputs) {
      const NodeId producer = input.valid() ? graph_.value(input).producer : NodeId{};
      if (producer.valid() && std::find(found.begin(), found.end(), producer) == found.end())
        found.push_back(producer);
    }
    return static_cast<uint32_t>(found.size());
  }

  // Bytes alive after the node, less those before it.
  std::ptrdiff_t added(NodeId id) const {
    std::ptrdiff_t bytes = 0;
    for (uint32_t buffer : touched_[id.index]) {
      const std::ptrdiff_t size = buffer_bytes(graph_.values()[buffer].type);
      if (!alive_[buffer]) bytes += size;
      if (untouched_[buffer] == 1) bytes -= size;
    }
    return bytes;
  }

  void release_readers(NodeId id) {
    std::vector<NodeId> readers;
    for (ValueId output : graph_.node(id).outputs) {
      if (!output.valid()) continue;
      for (NodeId reader : graph_.users(output)) {
        if (std::find(readers.begin(), readers.end(), reader) == readers.end()) readers.push_back(reader);
      }
    }
    readers.insert(readers.end(), writers_[id.index].begin(), writers_[id.index].end());
    for (NodeId reader : readers) {
      if (--waiting_[reader.index] > 0) continue;
      const auto at = std::lower_bound(ready_.begin(), ready_.end(), reader,
                                       [](NodeId a, NodeId b) { return a.index < b.index; });
      ready_.insert(at, reader);
    }
  }

  const Graph& graph_;
  BufferAssignment buffers_;
  std::vector<std::vector<uint32_t>> touched_;  // of each node: the buffers it reads or writes
  std::vector<uint32_t> untouched_;  // of each buffer: nodes that will touch it, and one for who keeps it
  std::vector<bool> alive_;          // of each buffer: written by now
  std::vector<uint32_t> waiting_;    // of each node: producers, and readers of the state, that have not run
  std::vector<std::vector<NodeId>> writers_;  // of each node: those that overwrite a state that it reads
  std::vector<NodeId> ready_;                 // in the given order
};

}  // namespace

std::size_t peak_live_bytes(const Graph& graph) {
  BufferAssignment buffers(graph);
  put_states_in_place(graph, buffers);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!works_in_place(node) || buffers.elided(NodeId{i})) continue;
    for (std::size_t input = 0; input < node.inputs.size(); ++input) {
      if (buffers.try_in_place(NodeId{i}, input)) break;
    }
  }
  std::vector<std::ptrdiff_t> change(graph.nodes().size() + 2, 0);
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const graph::Value& value = graph.values()[i];
    if (value.is_constant() || buffers.place(ValueId{i}).root != ValueId{i}) continue;
    change[buffers.first_definition(ValueId{i})] += buffer_bytes(value.type);
    change[buffers.last_use(ValueId{i}) + 1] -= buffer_bytes(value.type);
  }
  std::ptrdiff_t alive = 0;
  std::ptrdiff_t most = 0;
  for (std::ptrdiff_t bytes : change) most = std::max(most, alive += bytes);
  return static_cast<std::size_t>(most);
}

Result<PassOutcome> order_for_memory(const Graph& graph, const PassContext&) {
  PassOutcome outcome{graph, {}, {}};
  if (graph.nodes().size() < 2) return outcome;
  graph::GraphBuilder builder(graph);
  builder.reorder(Scheduler(graph).run());
  HONE_ASSIGN(Graph reordered, std::move(builder).finish());
  const std::size_t before = peak_live_bytes(graph);
  const std::size_t after = peak_live_bytes(reordered);
  if (after >= before) {
    if (const std::size_t count = count_without_place(graph); count > 0)
      outcome.missed.push_back(
          {graph.nodes()[0].name,
           fmt::format(
               "kept the order: {} of {} values have extents that are not known before the graph runs", count,
               graph.values().size())});
    return outcome;
  }
  std::size_t first = 0;  // the first node that another one stands in for
  while (first + 1 < graph.nodes().size() && graph.nodes()[first].name == reordered.nodes()[first].name)
    ++first;
  outcome.done.push_back(
      {reordered.nodes()[first].name,
       fmt::format("runs before '{}': at most {} alive at once instead of {}", graph.nodes()[first].name,
                   format_bytes(static_cast<double>(after)), format_bytes(static_cast<double>(before)))});
  outcome.graph = std::move(reordered);
  return outcome;
}

}  // namespace hone::passes
