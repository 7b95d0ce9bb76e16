#include "model/onnx/expand.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "graph/builder.h"
#include "graph/group_kind.h"
#include "graph/random_seeds.h"

namespace hone::model::onnx {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::kNoValue;
using graph::Node;
using graph::ValueId;
using ValueMap = std::unordered_map<ValueId, ValueId>;
using NameMap = std::unordered_map<ValueId, std::string>;

class Expander {
 public:
  Expander(const Graph& graph, bool keep_own, bool in_body)
      : source_(graph), builder_(graph.name()), keep_own_(keep_own), in_body_(in_body) {}

  Result<Graph> run() {
    ValueMap values;
    for (const ValueId input : source_.inputs()) {
      graph::TensorType type = source_.type(input);
      type.layout = Layout::kPlain;
      type.device = {};
      values[input] = builder_.input(source_.value(input).name, std::move(type));
    }
    NameMap names;
    for (uint32_t i = 0; i < source_.values().size(); ++i) names[ValueId{i}] = source_.values()[i].name;
    HONE_CHECK(add_nodes(source_, values, names));
    for (const ValueId output : source_.outputs()) {
      HONE_ASSIGN(const ValueId value, find(source_, values, output));
      HONE_ASSIGN(const ValueId named, with_name(value, source_.value(output).name));
      builder_.output(named);
    }
    builder_.set_states(source_.states());
    return std::move(builder_).finish();
  }

 private:
  // Constants enter when they are first read.
  Result<ValueId> find(const Graph& graph, ValueMap& values, ValueId id) {
    if (!id.valid()) return kNoValue;
    if (const auto found = values.find(id); found != values.end()) return found->second;
    const graph::Value& value = graph.value(id);
    if (!value.is_constant())
      return invalid(fmt::format("value '{}' is read before it is computed", value.name));
    if (value.type.layout != Layout::kPlain)
      return invalid(fmt::format("constant '{}' lies in layout {}; write the graph before it is laid out",
                                 value.name, layout_name(value.type.layout)));
    return values[id] = builder_.constant(value.name, *value.constant);
  }

  // `names`: what values of `graph` are to be called; others keep their own name or one like it.
  Status add_nodes(const Graph& graph, ValueMap& values, const NameMap& names) {
    for (const Node& node : graph.nodes()) {
      if (Status status = add_node(graph, node, values, names); !status.ok())
        return status.error().within(fmt::format("node '{}' ({})", node.name, node.op));
    }
    return {};
  }

  Status add_node(const Graph& graph, const Node& node, ValueMap& values, const NameMap& names) {
    if (graph::is_group(node)) return add_group(graph, node, values, names);
    Node copy = node;
    if (!keep_own_) graph::to_onnx_random(graph, copy, in_body_);
    for (ValueId& input : copy.inputs) {
      HONE_ASSIGN(input, find(graph, values, input));
    }
    if (node.op == "hone.Reorder" || node.op == "hone.CopyTo" ||
        (node.op == "hone.Recompute" && !keep_own_)) {
      values[node.outputs[0]] = copy.inputs.at(0);
      return {};
    }
    if (node.op == "Attention") HONE_CHECK(give_mask_all_rows(copy));
    copy.attributes.erase("output_layout");  // the expanded graph is plain throughout
    for (auto& body : copy.bodies) {
      HONE_ASSIGN(Graph expanded, Expander(*body, keep_own_, true).run());
      body = std::make_shared<const Graph>(std::move(expanded));
    }
    std::vector<std::string> output_names;
    std::vector<graph::TensorType> declared;
    for (const ValueId output : node.outputs) {
      const auto wanted = names.find(output);
      output_names.push_back(!output.valid()         ? ""
                             : wanted != names.end() ? wanted->second
                                                     : graph.value(output).name);
      declared.push_back(output.valid() ? graph.type(output) : graph::TensorType());
      declared.back().device = {};
      declared.back().layout = Layout::kPlain;
    }
    HONE_ASSIGN(const std::vector<ValueId> outputs,
                builder_.try_add(std::move(copy), output_names, declared));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (node.outputs[i].valid()) values[node.outputs[i]] = outputs[i];
    return {};
  }

  // ONNX lets a mask of one row stand for all queries; ONNX Runtime (1.31) wants a row for each.
  Status give_mask_all_rows(Node& attention) {
    if (!attention.has_input(3) || !builder_.type(attention.inputs[3]).is_static() ||
        !builder_.type(attention.inputs[0]).is_static())
      return {};
    const Shape q = builder_.type(attention.inputs[0]).shape();
    Shape rows = builder_.type(attention.inputs[3]).shape();
    if (rows.size() < 2 || q.size() < 3) return {};
    const int64_t queries = q[q.size() == 4 ? 2 : 1];
    if (rows[rows.size() - 2] == queries) return {};
    rows[rows.size() - 2] = queries;
    const std::string name = attention.name + ".mask_rows";
    Node expand;
    expand.op = "Expand";
    expand.name = name;
    expand.provenance = attention.provenance;
    expand.inputs = {
        attention.inputs[3],
        builder_.constant(name + ".shape", Tensor::i64({static_cast<int64_t>(rows.size())}, rows))};
    HONE_ASSIGN(const std::vector<ValueId> outputs,
                builder_.try_add(std::move(expand), std::vector<std::string>{name}));
    attention.inputs[3] = outputs[0];
    return {};
  }

  Status add_group(const Graph& graph, const Node& node, ValueMap& values, const NameMap& names) {
    if (node.bodies.size() != 1) return invalid("a group has exactly one body");
    const Graph& body = *node.bodies[0];
    ValueMap inner;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      HONE_ASSIGN(inner[body.inputs().at(i)], find(graph, values, node.inputs[i]));
    }
    NameMap inner_names;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (!output.valid()) continue;
      const auto wanted = names.find(output);
      inner_names.emplace(body.outputs().at(i),
                          wanted != names.end() ? wanted->second : graph.value(output).name);
    }
    HONE_CHECK(add_nodes(body, inner, inner_names));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      HONE_ASSIGN(values[node.outputs[i]], find(body, inner, body.outputs()[i]));
    }
    return {};
  }

  // The value under the name of an output; where it cannot take the name, an Identity carries it.
  Result<ValueId> with_name(ValueId value, const std::string& name) {
    if (builder_.value(value).name == name && !builder_.is_output(value)) return value;
    if (builder_.producer(value) != nullptr && !builder_.is_output(value)) {
      builder_.rename(value, name);
      return value;
    }
    Node identity;
    identity.op = "Identity";
    identity.name = name;
    identity.inputs = {value};
    const std::vector<std::string> output_names{name};
    HONE_ASSIGN(const std::vector<ValueId> outputs, builder_.try_add(std::move(identity), output_names));
    return outputs[0];
  }

  const Graph& source_;
  GraphBuilder builder_;
  bool keep_own_;
  bool in_body_;
};

}  // namespace

Result<Graph> expand_groups(const Graph& graph, bool keep_own) {
  return Expander(graph, keep_own, false).run();
}

}  // namespace hone::model::onnx
