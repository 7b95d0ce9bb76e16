#include "passes/recompute_schedule.h"

#include <algorithm>
#include <utility>

#include "graph/op_table.h"
#include "passes/order_for_memory.h"

namespace hone::passes {

using graph::BufferAssignment;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

// FLOPs that a machine does in the time of moving a byte: what makes pointwise operators cheap and products dear.
constexpr double kFlopsPerByte = 8;
// Nodes that run again for one value: longer chains cost more than they are worth, and their search as well.
constexpr std::size_t kMostCopies = 64;

}  // namespace

Schedule::Schedule(const Graph& graph, const std::map<std::string, std::size_t, std::less<>>& scratch)
    : graph_(graph) {
  BufferAssignment places(graph);
  put_states_in_place(graph, places);
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const graph::Value& value = graph.values()[i];
    buffer_of_.push_back(places.place(ValueId{i}).root.index);
    producer_.push_back(value.producer.valid() ? value.producer.index : kNoScheduled);
    reads_.push_back(graph.is_output(ValueId{i}) ? 1 : 0);
    buffers_.push_back({value.is_constant() ? 0 : buffer_bytes(value.type),
                        value.is_constant() || !graph::has_place(value.type), i});
  }
  for (const graph::StatePair& pair : graph.states()) {
    const graph::Value& next = graph.value(places.place(graph.next_value(pair)).root);
    if (next.producer.valid()) overwritten_by_[graph.state_input(pair).index] = next.producer.index;
  }
  for (const auto* list : {&graph.inputs(), &graph.outputs()})
    for (const ValueId id : *list) buffers_[buffer_of_[id.index]].pinned = true;
  for (uint32_t i = 0; i < buffers_.size(); ++i)
    if (buffer_of_[i] == i && buffers_[i].pinned) always_ += buffers_[i].bytes;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const auto found = scratch.find(graph.nodes()[i].name);
    add_node(NodeId{i}, found == scratch.end() ? 0 : found->second, places.elided(NodeId{i}));
  }
}

void Schedule::add_node(NodeId id, std::size_t scratch, bool elided) {
  const Node& node = graph_.node(id);
  ScheduledNode scheduled{id, false, false, elided, {}, {}, static_cast<std::ptrdiff_t>(scratch)};
  for (const ValueId input : node.inputs)
    scheduled.inputs.push_back(input.valid() ? input.index : kNoScheduled);
  for (const ValueId output : node.outputs)
    scheduled.outputs.push_back(output.valid() ? output.index : kNoScheduled);
  count_reads(scheduled, 1);
  order_.push_back(static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back(std::move(scheduled));
  const graph::Cost cost = graph::node_cost(graph_, node);
  work_.push_back(cost.flops + kFlopsPerByte * cost.bytes());
  in_place_.push_back(works_in_place(node));
  runs_again_.push_back(can_run_again(graph_, node));
}

std::vector<ScheduledNode> Schedule::nodes() const {
  std::vector<ScheduledNode> living;
  for (const uint32_t node : order_)
    if (!nodes_[node].dead) living.push_back(nodes_[node]);
  return living;
}

void Schedule::find_touches() {
  touches_.resize(buffers_.size());
  for (std::vector<Touch>& touches : touches_) touches.clear();  // which keeps what they have allocated
  place_of_.assign(nodes_.size(), 0);
  for (std::size_t place = 0; place < order_.size(); ++place) {
    const uint32_t id = order_[place];
    place_of_[id] = place;
    if (nodes_[id].dead) continue;
    for (const auto* values : {&nodes_[id].inputs, &nodes_[id].outputs})
      for (const uint32_t value : *values)
        if (value != kNoScheduled)
          touches_[buffer_of_[value]].push_back(
              {place, id, values == &nodes_[id].outputs && !nodes_[id].elided});
  }
}

// Of a node that works in place: what an operand takes that it writes over.
std::ptrdiff_t Schedule::saved_in_place(std::size_t place) const {
  const ScheduledNode& node = nodes_[order_[place]];
  if (node.dead || !in_place_[node.source.index]) return 0;
  for (const uint32_t output : node.outputs) {
    if (output == kNoScheduled) continue;
    const uint32_t to = buffer_of_[output];
    if (buffers_[to].pinned || touches_[to].front().place != place) continue;
    for (const uint32_t input : node.inputs) {
      if (input == kNoScheduled) continue;
      const uint32_t from = buffer_of_[input];
      if (!buffers_[from].pinned && from != to && buffers_[from].bytes == buffers_[to].bytes &&
          touches_[from].back().place == place)
        return buffers_[from].bytes;
    }
  }
  return 0;
}

Profile Schedule::profile(std::ptrdiff_t limit) {
  find_touches();
  std::vector<std::ptrdiff_t> change(order_.size() + 1, 0);
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    if (buffers_[b].pinned || touches_[b].empty()) continue;
    change[touches_[b].front().place] += buffers_[b].bytes;
    change[touches_[b].back().place + 1] -= buffers_[b].bytes;
  }
  Profile profile;
  std::ptrdiff_t alive = always_;
  for (std::size_t place = 0; place < order_.size(); ++place) {
    alive += change[place];
    const ScheduledNode& node = nodes_[order_[place]];
    if (node.dead) continue;
    const std::ptrdiff_t here = alive + node.scratch - saved_in_place(place);
    if (here > profile.most) {
      profile.most = here;
      profile.peak = place;
    }
    if (!node.copy) profile.excess += static_cast<double>(std::max<std::ptrdiff_t>(here - limit, 0));
  }
  return profile;
}

std::vector<std::vector<uint32_t>> Schedule::idle_at(std::size_t at, std::ptrdiff_t least) const {
  std::map<uint32_t, std::vector<uint32_t>> by_maker;
  for (uint32_t b = 0; b < buffers_.size(); ++b) {
    const std::vector<Touch>& touches = touches_[b];
    if (buffers_[b].pinned || buffers_[b].bytes < least || touches.empty()) continue;
    if (touches.front().place >= at || touches.back().place <= at) continue;
    const bool idle = std::none_of(touches.begin(), touches.end(), [&](const Touch& touch) {
      return touch.place == at || (touch.writes && touch.place > at);
    });
    if (idle) by_maker[touches.front().node].push_back(b);
  }
  std::vector<std::vector<uint32_t>> groups;
  for (auto& [maker, buffers] : by_maker) groups.push_back(std::move(buffers));
  return groups;
}

// Finds the nodes that have to run again: the ancestors of what is dropped that are not there where it is read.
class Schedule::DropPlanner {
 public:
  DropPlanner(const Schedule& schedule, std::size_t at, Drop& drop) : s_(schedule), at_(at), drop_(drop) {}

  bool plan() {
    const std::vector<uint32_t> late = late_values();
    if (late.empty()) return false;
    for (const uint32_t value : late)
      if (!need(value)) return false;
    finish();
    return true;
  }

 private:
  bool dropped(uint32_t buffer) const {
    return std::find(drop_.buffers.begin(), drop_.buffers.end(), buffer) != drop_.buffers.end();
  }

  // Those that are read behind the place; the first reader is where the copies go.
  std::vector<uint32_t> late_values() {
    std::vector<uint32_t> late;
    drop_.place = s_.order_.size();
    for (const uint32_t buffer : drop_.buffers) {
      for (const Touch& touch : s_.touches_[buffer]) {
        if (touch.place <= at_) continue;
        drop_.place = std::min(drop_.place, touch.place);
        for (const uint32_t input : s_.nodes_[touch.node].inputs)
          if (input != kNoScheduled && s_.buffer_of_[input] == buffer && made_before(input))
            late.push_back(input);
      }
    }
    std::sort(late.begin(), late.end());
    late.erase(std::unique(late.begin(), late.end()), late.end());
    return late;
  }

  // Other names for the dropped values may be made later: they follow them.
  bool made_before(uint32_t value) const {
    return s_.producer_[value] != kNoScheduled && s_.place_of_[s_.producer_[value]] < at_;
  }

  // Whether the value can be read where the copies go. What is alive at the peak stays until then.
  bool there(uint32_t value) const {
    const uint32_t buffer = s_.buffer_of_[value];
    const std::vector<Touch>& touches = s_.touches_[buffer];
    if (s_.buffers_[buffer].pinned) {  // as long as it has not been overwritten
      const auto writer = s_.overwritten_by_.find(buffer);
      if (writer != s_.overwritten_by_.end() && s_.place_of_[writer->second] < drop_.place) return false;
      if (s_.producer_[value] != kNoScheduled && s_.place_of_[s_.producer_[value]] >= drop_.place)
        return false;
      return std::none_of(touches.begin(), touches.end(), [&](const Touch& touch) {
        return touch.writes && touch.place < drop_.place && touch.node != s_.producer_[value];
      });
    }
    return !dropped(buffer) && !touches.empty() && touches.front().place < drop_.place &&
           touches.back().place >= at_;
  }

  bool need(uint32_t value) {
    if (there(value)) return true;
    const uint32_t node = s_.producer_[value];
    if (node == kNoScheduled || s_.buffers_[s_.buffer_of_[value]].pinned) return false;
    const ScheduledNode& scheduled = s_.nodes_[node];
    const Node& source = s_.graph_.node(scheduled.source);
    if (!s_.runs_again_[scheduled.source.index]) return false;
    std::vector<bool>& wanted = wanted_[node];
    const bool is_new = wanted.empty();
    if (is_new) wanted.assign(scheduled.outputs.size(), false);
    for (std::size_t i = 0; i < scheduled.outputs.size(); ++i) {
      if (scheduled.outputs[i] != value) continue;
      if (wanted[i]) return true;
      wanted[i] = true;
    }
    if (wanted_.size() > kMostCopies) return false;
    const std::vector<bool> now = wanted;  // the map may grow
    const CopyOperands operands = operands_of_copy(s_.graph_, source, now);
    for (std::size_t i = 0; i < scheduled.inputs.size(); ++i)
      if (operands.inputs[i] && scheduled.inputs[i] != kNoScheduled && !need(scheduled.inputs[i]))
        return false;
    return true;
  }

  // Where nobody reads the node's outputs before, its copy is only the node in another place.
  bool moves(uint32_t node) const {
    for (const uint32_t output : s_.nodes_[node].outputs) {
      if (output == kNoScheduled) continue;
      const uint32_t buffer = s_.buffer_of_[output];
      if (!dropped(buffer)) return false;
      for (const Touch& touch : s_.touches_[buffer])
        if (touch.node != node && touch.place <= at_) return false;
    }
    return true;
  }

  void finish() {
    for (auto& [node, wanted] : wanted_) drop_.copies.push_back({node, wanted});
    std::sort(drop_.copies.begin(), drop_.copies.end(), [&](const Drop::Again& a, const Drop::Again& b) {
      return s_.place_of_[a.node] < s_.place_of_[b.node];
    });
    for (const Drop::Again& again : drop_.copies)
      if (!moves(again.node)) drop_.work += s_.work_[s_.nodes_[again.node].source.index];
    for (const uint32_t buffer : drop_.buffers) drop_.bytes += s_.buffers_[buffer].bytes;
  }

  const Schedule& s_;
  std::size_t at_;
  Drop& drop_;
  std::unordered_map<uint32_t, std::vector<bool>> wanted_;  // of each node that runs again
};

std::optional<Drop> Schedule::plan_drop(const std::vector<uint32_t>& buffers, std::size_t at) const {
  Drop drop;
  drop.buffers = buffers;
  if (!DropPlanner(*this, at, drop).plan()) return std::nullopt;
  return drop;
}

void Schedule::count_reads(const ScheduledNode& node, int change) {
  for (const uint32_t input : node.inputs)
    if (input != kNoScheduled) reads_[input] += static_cast<uint32_t>(change);
}

bool Schedule::unread(const ScheduledNode& node) const {
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](uint32_t output) { return output == kNoScheduled || reads_[output] == 0; });
}

// A node that nothing reads any more, and what only it read.
void Schedule::bury(uint32_t node, Applied& applied) {
  if (nodes_[node].dead || !unread(nodes_[node])) return;
  nodes_[node].dead = true;
  applied.died.push_back(node);
  count_reads(nodes_[node], -1);
  for (const uint32_t input : nodes_[node].inputs)
    if (input != kNoScheduled && producer_[input] != kNoScheduled) bury(producer_[input], applied);
}

// A reader of what is made anew; what only names it lies where it lies now.
void Schedule::redirect(std::size_t place, const std::unordered_map<uint32_t, uint32_t>& values,
                        const std::unordered_map<uint32_t, uint32_t>& buffers, Applied& applied) {
  ScheduledNode& reader = nodes_[order_[place]];
  if (reader.dead) return;
  for (uint32_t i = 0; i < reader.inputs.size(); ++i) {
    const auto made = values.find(reader.inputs[i]);
    if (made == values.end()) continue;
    applied.redirected.push_back({order_[place], i, reader.inputs[i]});
    --reads_[reader.inputs[i]];
    reader.inputs[i] = made->second;
    ++reads_[made->second];
  }
  if (!reader.elided) return;
  for (const uint32_t output : reader.outputs) {
    if (output == kNoScheduled) continue;
    const auto moved = buffers.find(buffer_of_[output]);
    if (moved == buffers.end()) continue;
    applied.moved.emplace_back(output, buffer_of_[output]);
    buffer_of_[output] = moved->second;
  }
}

Applied Schedule::apply(const Drop& drop) {
  Applied applied{drop.place, drop.copies.size(), buffer_of_.size(), buffers_.size(), {}, {}, {}};
  std::unordered_map<uint32_t, uint32_t> values, buffers;  // of what is made anew
  std::vector<uint32_t> inserted;
  for (const Drop::Again& again : drop.copies) {
    const ScheduledNode source = nodes_[again.node];
    ScheduledNode copy{source.source, true, false, source.elided, {}, {}, source.scratch};
    const CopyOperands operands = operands_of_copy(graph_, graph_.node(source.source), again.wanted);
    for (std::size_t i = 0; i < source.inputs.size(); ++i) {
      const uint32_t input = operands.inputs[i] ? source.inputs[i] : kNoScheduled;
      const auto made = values.find(input);
      copy.inputs.push_back(made == values.end() ? input : made->second);
    }
    for (std::size_t i = 0; i < source.outputs.size(); ++i) {
      copy.outputs.push_back(kNoScheduled);
      if (!operands.outputs[i] || source.outputs[i] == kNoScheduled) continue;
      const uint32_t old = buffer_of_[source.outputs[i]];
      const auto [buffer, is_new] = buffers.try_emplace(old, static_cast<uint32_t>(buffers_.size()));
      if (is_new) buffers_.push_back({buffers_[old].bytes, false, buffers_[old].like});
      copy.outputs.back() = static_cast<uint32_t>(buffer_of_.size());
      values[source.outputs[i]] = copy.outputs.back();
      buffer_of_.push_back(buffer->second);
      producer_.push_back(static_cast<uint32_t>(nodes_.size()));
      reads_.push_back(0);
    }
    count_reads(copy, 1);
    inserted.push_back(static_cast<uint32_t>(nodes_.size()));
    nodes_.push_back(std::move(copy));
  }
  for (std::size_t place = drop.place; place < order_.size(); ++place)
    redirect(place, values, buffers, applied);
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(drop.place), inserted.begin(), inserted.end());
  for (const Drop::Again& again : drop.copies) bury(again.node, applied);
  return applied;
}

void Schedule::undo(const Applied& applied) {
  for (const uint32_t node : applied.died) {
    nodes_[node].dead = false;
    count_reads(nodes_[node], 1);
  }
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(applied.place);
  order_.erase(first, first + static_cast<std::ptrdiff_t>(applied.copies));
  for (const Applied::Read& read : applied.redirected) {
    uint32_t& input = nodes_[read.node].inputs[read.input];
    --reads_[input];
    input = read.before;
    ++reads_[input];
  }
  for (const auto& [value, buffer] : applied.moved) buffer_of_[value] = buffer;
  for (std::size_t i = 0; i < applied.copies; ++i) {
    count_reads(nodes_.back(), -1);
    nodes_.pop_back();
  }
  buffer_of_.resize(applied.values);
  producer_.resize(applied.values);
  reads_.resize(applied.values);
  buffers_.resize(applied.buffers);
}

}  // namespace hone::passes
