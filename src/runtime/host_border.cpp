#include "runtime/host_border.h"

#include <algorithm>

#include <fmt/core.h>

#include "graph/buffer_assignment.h"
#include "graph/builder.h"
#include "runtime/interpret_control.h"

namespace hone::runtime {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;

// Whether hone.CopyTo `node` would copy `from` to the memory that it is in, the host's.
bool stays_on_host(const graph::TensorType& from, const Node& node) {
  return from.device.is_host() && node.attributes.text("device", "") == DeviceId::host().text();
}

// Rebuilds a graph with each node where it runs.
class Border {
 public:
  explicit Border(const Graph& graph)
      : graph_(graph), builder_(graph.name()), now_(graph.values().size()), copies_(graph.values().size()) {}

  Result<Graph> draw() {
    for (const ValueId input : graph_.inputs()) {
      graph::TensorType type = graph_.type(input);
      if (!graph::has_place(type)) type.device = DeviceId::host();
      now_[input.index] = builder_.input(graph_.value(input).name, std::move(type));
    }
    for (uint32_t i = 0; i < graph_.values().size(); ++i) {
      const graph::Value& value = graph_.values()[i];
      if (value.is_constant()) now_[i] = builder_.constant(value.name, *value.constant);
    }
    for (const Node& node : graph_.nodes()) HONE_CHECK(add(node));
    std::vector<ValueId> outputs;
    for (const ValueId output : graph_.outputs()) outputs.push_back(now_[output.index]);
    builder_.set_outputs(std::move(outputs));
    builder_.set_states(graph_.states());
    return std::move(builder_).finish(/*keep_dead=*/true);
  }

 private:
  Status add(const Node& node) {
    Node placed = node;
    if (node.op != "hone.CopyTo") {
      const DeviceId where = why_on_host(graph_, node).empty() ? DeviceId() : DeviceId::host();
      for (ValueId& input : placed.inputs) {
        if (!input.valid()) continue;
        HONE_ASSIGN(input, value_on(input, where, node));
      }
    } else {
      placed.inputs[0] = now_[node.inputs[0].index];
      // What it copies lies there already, computed by a node that only the host can run, say: another name.
      if (stays_on_host(builder_.type(placed.inputs[0]), node)) {
        placed.op = "Identity";
        placed.attributes = {};
      }
    }
    std::vector<std::string> names;
    std::vector<graph::TensorType> declared;
    for (const ValueId output : node.outputs) {
      names.push_back(output.valid() ? graph_.value(output).name : "");
      declared.push_back(output.valid() ? graph_.type(output) : graph::TensorType{});
    }
    // What was declared lies on no device in particular: inference says where it lies now.
    HONE_ASSIGN(const std::vector<ValueId> outputs, builder_.try_add(std::move(placed), names));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      now_[node.outputs[i].index] = outputs[i];
      declared[i].device = builder_.type(outputs[i]).device;
      builder_.set_type(outputs[i], std::move(declared[i]));
    }
    return {};
  }

  Result<ValueId> value_on(ValueId value, DeviceId where, const Node& reader) {
    const ValueId here = now_[value.index];
    if (builder_.value(here).is_constant() || builder_.type(here).device == where) return here;
    ValueId& copy = copies_[value.index];
    if (copy.valid()) return copy;
    Node node;
    node.op = "hone.CopyTo";
    node.name = fmt::format("{} to {}", graph_.value(value).name, where.text());
    node.inputs = {here};
    node.attributes.set("device", where.text());
    node.provenance = reader.provenance;
    const std::string name = node.name;
    HONE_ASSIGN(const std::vector<ValueId> outputs, builder_.try_add(std::move(node), std::span(&name, 1)));
    copy = outputs[0];
    return copy;
  }

  const Graph& graph_;
  GraphBuilder builder_;
  std::vector<ValueId> now_;     // of each value of graph_
  std::vector<ValueId> copies_;  // the same value on the other side, where it has crossed
};

}  // namespace

std::string why_on_host(const Graph& graph, const Node& node) {
  if (is_control(node)) return "decides at run time what runs";
  for (const auto* ids : {&node.outputs, &node.inputs}) {
    for (const ValueId id : *ids) {
      if (!id.valid() || graph::has_place(graph.type(id))) continue;
      const graph::Value& value = graph.value(id);
      if (value.type.dtype == DType::kString) return fmt::format("'{}' holds strings", value.name);
      return fmt::format("the shape of '{}', {}, is known only when it runs", value.name, value.type.text());
    }
  }
  return {};
}

bool runs_on_host(const Graph& graph, const Node& node) {
  if (node.op == "hone.CopyTo") return false;
  return is_control(node) || std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
           return output.valid() && graph.type(output).device.is_host();
         });
}

Result<Graph> with_host_border(Graph graph) {
  const bool crosses = std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    return !why_on_host(graph, node).empty() ||
           (node.op == "hone.CopyTo" && stays_on_host(graph.type(node.inputs[0]), node));
  });
  if (!crosses) return graph;
  return Border(graph).draw();
}

}  // namespace hone::runtime
