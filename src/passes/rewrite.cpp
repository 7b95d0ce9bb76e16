#include "passes/rewrite.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace hone::passes {

std::optional<NodeId> produced_by(const GraphBuilder& builder, ValueId value, std::string_view op) {
  if (!value.valid()) return std::nullopt;
  const NodeId id = builder.value(value).producer;
  if (!id.valid() || builder.erased(id) || builder.node(id).op != op) return std::nullopt;
  return id;
}

std::optional<NodeId> only_reader(const GraphBuilder& builder, ValueId value) {
  if (builder.is_output(value)) return std::nullopt;
  const std::vector<NodeId> users = builder.users(value);
  return users.size() == 1 ? std::optional(users[0]) : std::nullopt;
}

const Tensor* constant_data(const GraphBuilder& builder, ValueId value) {
  return value.valid() && builder.value(value).is_constant() ? &*builder.value(value).constant : nullptr;
}

std::optional<double> scalar_constant(const GraphBuilder& builder, ValueId value) {
  const Tensor* data = constant_data(builder, value);
  if (data == nullptr || data->size() != 1 || data->dtype() == DType::kString) return std::nullopt;
  return data->at(0);
}

std::optional<std::vector<int64_t>> int_constant(const GraphBuilder& builder, ValueId value) {
  const Tensor* data = constant_data(builder, value);
  if (data == nullptr || data->rank() > 1 || !is_integer(data->dtype())) return std::nullopt;
  return data->to_ints();
}

bool nearly(double a, double b) { return std::abs(a - b) <= 1e-4 * std::max(std::abs(b), 1e-6); }

std::optional<ValueId> other_operand(const Node& node, ValueId value) {
  if (node.inputs.size() != 2 || (node.inputs[0] == value) == (node.inputs[1] == value)) return std::nullopt;
  return node.inputs[0] == value ? node.inputs[1] : node.inputs[0];
}

std::optional<ScalarOperand> scalar_operand(const GraphBuilder& builder, const Node& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    if (auto scalar = scalar_constant(builder, node.inputs[i]))
      return ScalarOperand{node.inputs[1 - i], *scalar};
  }
  return std::nullopt;
}

bool is_class(const Node& node, graph::OpClass op_class) {
  const graph::OpEntry* entry = graph::find_entry(node);
  return entry != nullptr && entry->op_class == op_class;
}

std::optional<int64_t> extent(const GraphBuilder& builder, ValueId value, int64_t axis) {
  const graph::TensorType& type = builder.type(value);
  if (!type.has_rank()) return std::nullopt;
  const int64_t at = axis < 0 ? axis + type.rank() : axis;
  if (at < 0 || at >= type.rank()) return std::nullopt;
  const graph::Dim& dim = (*type.dims)[static_cast<std::size_t>(at)];
  return dim.known() ? std::optional(dim.extent()) : std::nullopt;
}

Result<Group> make_group(const GraphBuilder& builder, std::span<const NodeId> nodes, graph::GroupKind kind) {
  const auto inside = [&](NodeId id) { return std::find(nodes.begin(), nodes.end(), id) != nodes.end(); };
  // A product's name, or a normalisation's, is what people look for; of a chain of pointwise operators the last says what
  // it gives.
  const bool product = kind == graph::GroupKind::kConvolution || kind == graph::GroupKind::kMatmul ||
                       kind == graph::GroupKind::kBiasGradient || kind == graph::GroupKind::kNormalization;
  const std::string name = builder.node(product ? nodes.front() : nodes.back()).name;
  GraphBuilder body(name);
  Group group;
  group.nodes.assign(nodes.begin(), nodes.end());
  group.node.op = "hone.Fused";
  group.node.name = name;
  group.node.attributes.set("kind", std::string(graph::group_kind_name(kind)));
  std::unordered_map<ValueId, ValueId> in_body;
  for (NodeId id : nodes) {
    Node copy = builder.node(id);
    for (ValueId& input : copy.inputs) {
      if (!input.valid()) continue;
      auto known = in_body.find(input);
      if (known == in_body.end()) {
        known = in_body.emplace(input, body.input(builder.value(input).name, builder.type(input))).first;
        group.node.inputs.push_back(input);
      }
      input = known->second;
    }
    std::vector<std::string> names;
    std::vector<graph::TensorType> types;
    for (ValueId output : copy.outputs) {
      names.push_back(output.valid() ? builder.value(output).name : "");
      types.push_back(output.valid() ? builder.type(output) : graph::TensorType{});
    }
    const std::vector<ValueId> outer = std::move(copy.outputs);
    HONE_ASSIGN(const std::vector<ValueId> inner, body.try_add(std::move(copy), names, types));
    for (std::size_t i = 0; i < outer.size(); ++i) {
      if (!outer[i].valid()) continue;
      in_body.emplace(outer[i], inner[i]);
      const std::vector<NodeId> users = builder.users(outer[i]);
      if (builder.is_output(outer[i]) || !std::all_of(users.begin(), users.end(), inside)) {
        group.results.push_back(outer[i]);
        body.output(inner[i]);
      }
    }
  }
  HONE_ASSIGN(graph::Graph finished, std::move(body).finish());
  group.node.bodies.push_back(std::make_shared<const graph::Graph>(std::move(finished)));
  return group;
}

Result<NodeId> put_group(GraphBuilder& builder, Group group) {
  std::vector<std::string> names;
  for (ValueId result : group.results) names.push_back(builder.value(result).name);
  builder.replacing(group.nodes);
  for (auto it = group.nodes.rbegin(); it != group.nodes.rend(); ++it) builder.erase(*it);
  HONE_ASSIGN(const std::vector<ValueId> outputs, builder.try_add(std::move(group.node), names));
  builder.replacing({});
  for (std::size_t i = 0; i < group.results.size(); ++i) {
    const ValueId result = group.results[i];
    const bool interface = builder.is_output(result);  // whose name moves along with its uses
    builder.replace_all_uses(result, outputs[i]);
    if (!interface) builder.swap_names(result, outputs[i]);
  }
  return builder.value(outputs[0]).producer;
}

Result<NodeId> fuse(GraphBuilder& builder, std::span<const NodeId> nodes, graph::GroupKind kind) {
  HONE_ASSIGN(Group group, make_group(builder, nodes, kind));
  return put_group(builder, std::move(group));
}

bool runs_group(const Target& target, const GraphBuilder& builder, const Group& group) {
  if (!target.runs) return true;
  std::vector<const graph::Value*> inputs;
  std::vector<graph::TensorType> types;
  for (ValueId input : group.node.inputs) {
    inputs.push_back(&builder.value(input));
    types.push_back(builder.type(input));
  }
  std::vector<std::string> names;
  for (ValueId result : group.results) names.push_back(builder.value(result).name);
  const auto alone = graph_of_one(group.node, inputs, types, names);
  return alone.ok() && !alone->nodes().empty() && target.runs(*alone, alone->nodes()[0]);
}

Result<graph::Graph> graph_of_one(const Node& node, std::span<const graph::Value* const> inputs,
                                  std::span<const graph::TensorType> types,
                                  std::span<const std::string> output_names) {
  GraphBuilder alone("alone");
  Node copy = node;
  copy.outputs.clear();
  for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
    if (!copy.inputs[i].valid()) continue;
    const graph::Value& value = *inputs[i];
    copy.inputs[i] =
        value.is_constant() ? alone.constant(value.name, *value.constant) : alone.input(value.name, types[i]);
  }
  HONE_ASSIGN(const std::vector<ValueId> outputs, alone.try_add(std::move(copy), output_names));
  std::vector<ValueId> wanted;
  for (ValueId output : outputs) {
    if (output.valid()) wanted.push_back(output);
  }
  alone.set_outputs(wanted);
  return std::move(alone).finish();
}

namespace {

// `values`: a graph, or a builder of one; `floats`: the type that its f32 inputs are given.
template <typename Values>
bool has_kernel_alone(const Target& target, const Values& values, const Node& node,
                      DType floats = DType::kF32) {
  if (!target.runs) return false;
  std::vector<graph::Value> retyped(floats == DType::kF32 ? 0 : node.inputs.size());
  std::vector<const graph::Value*> inputs;
  std::vector<graph::TensorType> types;
  std::vector<std::string> names;
  for (const ValueId input : node.inputs) {
    inputs.push_back(input.valid() ? &values.value(input) : nullptr);
    types.push_back(input.valid() ? values.type(input) : graph::TensorType{});
    if (floats == DType::kF32 || !input.valid() || types.back().dtype != DType::kF32) continue;
    types.back().dtype = floats;
    graph::Value& stand_in = retyped[types.size() - 1];  // a constant, too: of its numbers nothing is asked
    stand_in.name = values.value(input).name;
    inputs.back() = &stand_in;
  }
  for (const ValueId output : node.outputs) names.push_back(output.valid() ? values.value(output).name : "");
  const auto alone = graph_of_one(node, inputs, types, names);
  return alone.ok() && !alone->nodes().empty() && target.runs(*alone, alone->nodes()[0]);
}

}  // namespace

bool runs_alone(const Target& target, const graph::Graph& graph, const Node& node) {
  return has_kernel_alone(target, graph, node);
}

bool runs_alone(const Target& target, const GraphBuilder& builder, const Node& node) {
  return has_kernel_alone(target, builder, node);
}

bool runs_alone_in(const Target& target, const graph::Graph& graph, const Node& node, DType type) {
  return has_kernel_alone(target, graph, node, type);
}

}  // namespace hone::passes
