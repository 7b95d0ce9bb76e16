#include "graph/verify.h"

#include <unordered_set>

#include <fmt/core.h>

#include "graph/op_table.h"

namespace hone::graph {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.values().size(), false) {}

  Status run() {
    HONE_CHECK(check_values());
    HONE_CHECK(check_interface());
    HONE_CHECK(check_states());
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (Status status = check_node(NodeId{i}); !status.ok()) {
        return status.error().within(
            fmt::format("graph '{}': node '{}' ({})", graph_.name(), node.name, node.op));
      }
    }
    for (ValueId output : graph_.outputs()) {
      if (!defined_[output.index])
        return broken(fmt::format("output '{}' is never computed", graph_.value(output).name));
    }
    return {};
  }

 private:
  Error broken(const std::string& what) const {
    return invalid(fmt::format("graph '{}': {}", graph_.name(), what));
  }
  bool in_range(ValueId id) const { return id.index < graph_.values().size(); }

  Status check_values() {
    std::unordered_set<std::string_view> names;
    for (uint32_t i = 0; i < graph_.values().size(); ++i) {
      const Value& value = graph_.values()[i];
      if (value.name.empty()) return broken(fmt::format("value {} has no name; give it one", i));
      if (!names.insert(value.name).second)
        return broken(fmt::format("two values are named '{}'", value.name));
      if (!value.is_constant()) continue;
      defined_[i] = true;
      if (value.producer.valid()) return broken(fmt::format("constant '{}' also has a producer", value.name));
      TensorType held = tensor_type(value.constant->dtype(), value.constant->shape());
      held.layout = value.type.layout;
      if (value.type.device != DeviceId())
        return broken(fmt::format("constant '{}' is said to lie on {}; a constant has no device of its own",
                                  value.name, value.type.device.text()));
      if (held != value.type) {
        return broken(fmt::format("constant '{}' is declared {}, but its data are {}", value.name,
                                  value.type.text(), held.text()));
      }
    }
    return {};
  }

  Status check_interface() {
    for (ValueId input : graph_.inputs()) {
      if (!in_range(input)) return broken("an input id is out of range");
      const Value& value = graph_.value(input);
      if (value.producer.valid() || value.is_constant()) {
        return broken(fmt::format("input '{}' is also computed or constant", value.name));
      }
      if (defined_[input.index]) return broken(fmt::format("input '{}' is listed twice", value.name));
      defined_[input.index] = true;
    }
    for (ValueId output : graph_.outputs()) {
      if (!in_range(output)) return broken("an output id is out of range");
    }
    return {};
  }

  Status check_states() const {
    std::unordered_set<uint32_t> inputs;
    std::unordered_set<uint32_t> outputs;
    for (const StatePair& pair : graph_.states()) {
      if (pair.input >= graph_.inputs().size() || pair.output >= graph_.outputs().size())
        return broken(fmt::format("a state pairs input {} with output {}, but there are {} and {}",
                                  pair.input, pair.output, graph_.inputs().size(), graph_.outputs().size()));
      const Value& input = graph_.value(graph_.state_input(pair));
      const Value& next = graph_.value(graph_.next_value(pair));
      if (!inputs.insert(pair.input).second)
        return broken(fmt::format("input '{}' has two next values; a state has one", input.name));
      if (!outputs.insert(pair.output).second)
        return broken(
            fmt::format("output '{}' is the next value of two inputs; list it once for each", next.name));
      if (input.type != next.type)
        return broken(
            fmt::format("'{}' ({}) is said to be the next value of '{}' ({}): both must have one type",
                        next.name, next.type.text(), input.name, input.type.text()));
    }
    return {};
  }

  Status check_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.name.empty()) return invalid("has no name");
    if (!node_names_.insert(node.name).second) return invalid("shares its name with another node");
    if (node.provenance.empty())
      return invalid("has no provenance; say which nodes of the model it stands for");
    std::vector<const Value*> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (!input.valid()) {
        inputs.push_back(nullptr);
        continue;
      }
      if (!in_range(input)) return invalid(fmt::format("input {} is out of range", i));
      if (!defined_[input.index]) {
        return invalid(fmt::format("reads '{}' before it is computed; nodes must stand in topological order",
                                   graph_.value(input).name));
      }
      inputs.push_back(&graph_.value(input));
    }
    HONE_CHECK(check_bodies(node));
    HONE_ASSIGN(const std::vector<TensorType> types, infer_types(node, std::move(inputs)));
    return check_outputs(id, node, types);
  }

  Status check_bodies(const Node& node) const {
    for (const auto& body : node.bodies) {
      if (body == nullptr) return invalid("has an empty sub-graph");
      if (!body->states().empty())
        return invalid("has a sub-graph with state; only the whole graph lives from step to step");
      HONE_CHECK(verify(*body));
    }
    return {};
  }

  Status check_outputs(NodeId id, const Node& node, const std::vector<TensorType>& types) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (!output.valid()) continue;
      if (!in_range(output)) return invalid(fmt::format("output {} is out of range", i));
      const Value& value = graph_.value(output);
      if (defined_[output.index]) return invalid(fmt::format("'{}' is computed twice", value.name));
      defined_[output.index] = true;
      if (value.producer != id || value.output_index != i) {
        return invalid(fmt::format("'{}' names another producer", value.name));
      }
      auto merged = merge_types(value.type, types[i]);
      if (!merged.ok()) return merged.error().within(fmt::format("output '{}'", value.name));
      if (value.type.layout != types[i].layout) {
        return invalid(fmt::format("output '{}' is {}, but the operator gives layout {}", value.name,
                                   value.type.text(), layout_name(types[i].layout)));
      }
    }
    return {};
  }

  const Graph& graph_;
  std::vector<bool> defined_;
  std::unordered_set<std::string_view> node_names_;
};

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace hone::graph
