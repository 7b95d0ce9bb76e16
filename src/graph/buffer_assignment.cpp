#include "graph/buffer_assignment.h"

#include <algorithm>

#include "graph/op_table.h"

namespace hone::graph {
namespace {

// Parts begin where a GPU's kernels can read and write them 16 bytes at a time. Others are copied: they are small, or
// of an odd size that is rare.
constexpr std::size_t kPartAlignment = 16;

// Whether parts of a tensor along `axis` are contiguous blocks of it, one after another: all extents before
// the axis are 1 and, in a blocked layout, the parts end on block boundaries.
bool contiguous_along(const TensorType& whole, int64_t axis, std::span<const int64_t> part_extents) {
  const Shape shape = whole.shape();
  for (int64_t i = 0; i < axis; ++i) {
    if (shape[static_cast<std::size_t>(i)] != 1) return false;
  }
  if (whole.layout == Layout::kPlain) return true;
  if (whole.layout == Layout::kChannelsLast) return axis == 0;
  const int64_t block = channel_block(whole.layout);
  return axis == 0 || (axis == 1 && std::all_of(part_extents.begin(), part_extents.end(),
                                                [&](int64_t extent) { return extent % block == 0; }));
}

bool is_view(const Node& node) {
  const OpEntry* entry = find_entry(node);
  return entry != nullptr && entry->op_class == OpClass::kView && !node.outputs.empty();
}

// Whether all that the node reads and writes has its place in memory: bytes are known before it runs.
bool has_places(const Graph& graph, const Node& node) {
  for (const auto* ids : {&node.inputs, &node.outputs}) {
    for (ValueId id : *ids) {
      if (id.valid() && !has_place(graph.type(id))) return false;
    }
  }
  return true;
}

}  // namespace

bool has_place(const TensorType& type) { return type.is_static() && type.dtype != DType::kString; }

BufferAssignment::BufferAssignment(const Graph& graph)
    : graph_(graph),
      placed_(graph.nodes().size(), false),
      elided_(graph.nodes().size(), false),
      places_(graph.values().size()),
      last_use_(graph.values().size(), 0),
      reads_end_(graph.values().size(), 0),
      first_definition_(graph.values().size(), 0) {
  for (uint32_t i = 0; i < places_.size(); ++i) places_[i] = {ValueId{i}, 0};
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    placed_[i] = has_places(graph, node);
    if (!placed_[i]) continue;
    if (is_view(node)) place_view(NodeId{i});
    if (node.op == "Split" || node.op == "Slice") elided_[i] = place_parts_of_input(NodeId{i});
    if (node.op == "Concat") elided_[i] = place_parts_of_output(NodeId{i});
  }
  find_lifetimes();
}

void BufferAssignment::merge(ValueId value, ValueId root, std::size_t offset) {
  // Values that lie in `value`'s buffer move with it.
  for (BufferPlace& place : places_) {
    if (place.root == value) place = {root, offset + place.offset};
  }
}

void BufferAssignment::place_view(NodeId id) {
  const Node& node = graph_.node(id);
  const ValueId input = node.inputs[0];
  const ValueId output = node.outputs[0];
  const TensorType& from = graph_.type(input);
  const TensorType& to = graph_.type(output);
  const bool same_bytes = from.storage_bytes() == to.storage_bytes() && from.layout == to.layout;
  const bool same_order = from.layout == Layout::kPlain || from.dims == to.dims;
  // Elements of less than a byte are held as numbers, which BitCast changes.
  const bool same_elements = from.dtype == to.dtype || dtype_bits(from.dtype) >= 8;
  if (!same_bytes || !same_order || !same_elements) return;
  const BufferPlace& place = places_[input.index];
  merge(output, place.root, place.offset);
  elided_[id.index] = true;
}

bool BufferAssignment::place_parts_of_input(NodeId id) {
  const Node& node = graph_.node(id);
  const ValueId whole = node.inputs[0];
  const TensorType& type = graph_.type(whole);
  const Shape shape = type.shape();
  int64_t axis = 0;
  Ints extents;
  std::size_t start = 0;
  if (node.op == "Split") {
    auto normal = normalize_axis(node.attributes.integer("axis", 0), type.rank());
    if (!normal.ok()) return false;
    axis = *normal;
    for (ValueId output : node.outputs) {
      if (!output.valid()) return false;
      extents.push_back(graph_.type(output).shape()[static_cast<std::size_t>(axis)]);
    }
  } else {
    // Slice: one axis only, from a known start, in steps of one.
    const Shape out = graph_.type(node.outputs[0]).shape();
    int64_t sliced = -1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == out[i]) continue;
      if (sliced >= 0) return false;
      sliced = static_cast<int64_t>(i);
    }
    if (sliced < 0) return false;
    axis = sliced;
    auto known = [&](std::size_t i) -> Ints {
      return node.has_input(i) && graph_.value(node.inputs[i]).is_constant()
                 ? graph_.value(node.inputs[i]).constant->to_ints()
                 : Ints{};
    };
    const Ints starts = known(1);
    const Ints axes = known(3);
    const Ints steps = known(4);
    if (std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 1; })) return false;
    if (node.has_input(4) && steps.empty()) return false;
    int64_t first = -1;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      int64_t a = node.has_input(3) ? (i < axes.size() ? axes[i] : -1) : static_cast<int64_t>(i);
      if (a < 0) a += type.rank();
      if (a == axis) first = starts[i] < 0 ? starts[i] + shape[static_cast<std::size_t>(axis)] : starts[i];
    }
    if (first < 0 || first + out[static_cast<std::size_t>(axis)] > shape[static_cast<std::size_t>(axis)])
      return false;
    extents = {first, out[static_cast<std::size_t>(axis)]};
    if (!contiguous_along(type, axis, extents)) return false;
    const std::size_t row = type.storage_bytes() / static_cast<std::size_t>(std::max<int64_t>(
                                                       1, shape[static_cast<std::size_t>(axis)]));
    start = row * static_cast<std::size_t>(first);
  }
  if (!contiguous_along(type, axis, extents)) return false;
  const BufferPlace place = places_[whole.index];
  if (!all_aligned(place.offset + start, node.outputs)) return false;
  for (ValueId output : node.outputs) {
    merge(output, place.root, place.offset + start);
    start += graph_.type(output).storage_bytes();
  }
  return true;
}

// Of values one after another from `offset` on. An empty one lies anywhere.
bool BufferAssignment::all_aligned(std::size_t offset, std::span<const ValueId> parts) const {
  return std::all_of(parts.begin(), parts.end(), [&](ValueId part) {
    const std::size_t bytes = graph_.type(part).storage_bytes();
    const bool aligned = bytes == 0 || offset % kPartAlignment == 0;
    offset += bytes;
    return aligned;
  });
}

bool BufferAssignment::place_parts_of_output(NodeId id) {
  const Node& node = graph_.node(id);
  const ValueId whole = node.outputs[0];
  const TensorType& type = graph_.type(whole);
  auto axis = normalize_axis(node.attributes.integer("axis", 0), type.rank());
  if (!axis.ok()) return false;
  Ints extents;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    const Value& value = graph_.value(input);
    const bool own = places_[input.index].root == input && value.producer.valid() && !graph_.is_output(input);
    const bool once = std::count(node.inputs.begin(), node.inputs.end(), input) == 1;
    if (!own || !once || value.type.layout != type.layout) return false;
    extents.push_back(value.type.shape()[static_cast<std::size_t>(*axis)]);
  }
  if (!contiguous_along(type, *axis, extents) || !all_aligned(0, node.inputs)) return false;
  std::size_t offset = 0;
  for (ValueId input : node.inputs) {
    merge(input, whole, offset);
    offset += graph_.type(input).storage_bytes();
  }
  return true;
}

void BufferAssignment::find_lifetimes() {
  const auto count = static_cast<uint32_t>(graph_.nodes().size());
  first_definition_.assign(places_.size(), count);
  for (uint32_t i = 0; i < places_.size(); ++i) {
    const Value& value = graph_.values()[i];
    const uint32_t root = places_[i].root.index;
    const uint32_t defined = value.producer.valid() ? value.producer.index : 0;
    first_definition_[root] = std::min(first_definition_[root], defined);
    uint32_t& reads_end = reads_end_[root];
    for (NodeId user : graph_.users(ValueId{i})) reads_end = std::max(reads_end, user.index + 1);
    if (graph_.is_output(ValueId{i})) reads_end = count + 1;
    last_use_[root] = std::max({last_use_[root], defined, reads_end > 0 ? reads_end - 1 : 0});
  }
  // What the caller writes must survive a run, because the same input may be run again; a state must, because
  // the next step reads it.
  for (ValueId input : graph_.inputs()) {
    first_definition_[input.index] = 0;
    last_use_[input.index] = count;
  }
}

std::optional<uint32_t> BufferAssignment::last_read(ValueId root) const {
  const uint32_t end = reads_end_[root.index];
  return end > 0 ? std::optional(end - 1) : std::nullopt;
}

// Whether `value`, which owns its buffer, is the next value of the graph's input `state`, or lies under a
// view that is: what the caller gave is overwritten for nothing else.
bool BufferAssignment::may_replace(ValueId value, ValueId state) const {
  if (graph_.type(value).storage_bytes() != graph_.type(state).storage_bytes()) return false;
  return std::any_of(graph_.states().begin(), graph_.states().end(), [&](const StatePair& pair) {
    const BufferPlace& next = places_[graph_.next_value(pair).index];
    return graph_.state_input(pair) == state && next.root == value && next.offset == 0;
  });
}

void BufferAssignment::take_over(ValueId value, ValueId root, std::size_t offset) {
  merge(value, root, offset);
  last_use_[root.index] = std::max(last_use_[root.index], last_use_[value.index]);
  reads_end_[root.index] = std::max(reads_end_[root.index], reads_end_[value.index]);
}

bool BufferAssignment::try_in_place(NodeId id, std::size_t input, std::size_t output) {
  const Node& node = graph_.node(id);
  if (!node.has_input(input) || !node.has_output(output) || !placed_[id.index]) return false;
  const ValueId from = node.inputs[input];
  const ValueId to = node.outputs[output];
  const ValueId root = places_[from.index].root;
  const Value& owner = graph_.value(root);
  if (owner.is_constant()) return false;  // not the plan's to overwrite
  if (places_[to.index].root != to || reads_end_[root.index] != id.index + 1) return false;
  if (graph_.type(from).storage_bytes() != graph_.type(to).storage_bytes()) return false;
  if (owner.producer.valid() ? last_use_[root.index] != id.index : !may_replace(to, root)) return false;
  // Another input in the same buffer would be overwritten while it is read, and so would an output of this
  // node that was put there.
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (i != input && node.has_input(i) && places_[node.inputs[i].index].root == root) return false;
  }
  for (ValueId other : node.outputs) {
    if (other.valid() && places_[other.index].root == root) return false;
  }
  take_over(to, root, places_[from.index].offset);
  return true;
}

bool BufferAssignment::try_next_in_place(const StatePair& pair) {
  if (next_in_place(pair)) return true;
  const ValueId state = graph_.state_input(pair);
  const BufferPlace next = places_[graph_.next_value(pair).index];
  if (!has_place(graph_.type(state)) || !has_place(graph_.type(next.root))) return false;
  const bool own = graph_.value(next.root).producer.valid() && next.offset == 0 &&
                   graph_.type(next.root).storage_bytes() == graph_.type(state).storage_bytes();
  if (!own || first_definition_[next.root.index] < reads_end_[state.index]) return false;
  take_over(next.root, state, 0);
  return true;
}

bool BufferAssignment::next_in_place(const StatePair& pair) const {
  const BufferPlace& next = places_[graph_.next_value(pair).index];
  return next.root == graph_.state_input(pair) && next.offset == 0;
}

bool BufferAssignment::overwritten_at_end(ValueId root) const {
  return std::any_of(graph_.states().begin(), graph_.states().end(), [&](const StatePair& pair) {
    return graph_.state_input(pair) == root && !next_in_place(pair);
  });
}

}  // namespace hone::graph
