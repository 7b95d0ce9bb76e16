#include "model/onnx/graph_reader.h"

#include <algorithm>

#include <fmt/core.h>

#include "graph/op_table.h"
#include "graph/product_math.h"
#include "model/onnx/attribute_proto.h"
#include "model/onnx/node_order.h"
#include "model/onnx/state_metadata.h"
#include "model/onnx/upgrade/upgrade.h"

namespace hone::model::onnx {
namespace {

using graph::kNoValue;
using graph::TensorType;
using graph::ValueId;

std::string operator_name(std::string_view domain, std::string_view op) {
  return domain.empty() ? std::string(op) : fmt::format("{}.{}", domain, op);
}

// Outputs that nothing reads are dropped where the operator lets them be absent, so that kernels need not
// compute them.
void drop_unread_outputs(const graph::OpEntry& entry, Upgrade& upgrade) {
  if (entry.max_outputs < 0) return;
  const auto required = static_cast<std::size_t>(entry.min_outputs);
  for (std::size_t i = required; i < upgrade.output_names.size(); ++i)
    if (!upgrade.wanted[i]) upgrade.output_names[i].clear();
  while (upgrade.output_names.size() > required && upgrade.output_names.back().empty())
    upgrade.output_names.pop_back();
}

// Trailing absent inputs say nothing; Loop needs its two first ones to be there, present or not.
void normalize_inputs(graph::Node& node) {
  const std::size_t least = node.op == "Loop" ? 2 : 0;
  while (node.inputs.size() > least && node.captures == 0 && !node.inputs.back().valid())
    node.inputs.pop_back();
}

// The types of outputs that the file declares, where they add to what was inferred. A wrong declaration
// inside the graph does no harm: inference wins.
void merge_declared(const Frame& frame, std::string_view name, ValueId value) {
  const auto declared = frame.declared.find(name);
  if (declared == frame.declared.end()) return;
  auto merged = graph::merge_types(declared->second, frame.builder.type(value));
  if (merged.ok()) frame.builder.set_type(value, *merged);
}

}  // namespace

std::string_view normal_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

Result<OpsetImports> make_opset_imports(const std::vector<OperatorSetId>& imports, int64_t ir_version) {
  OpsetImports opsets;
  for (const OperatorSetId& import : imports) {
    const std::string_view domain = normal_domain(import.domain);
    if (import.version < 1)
      return corrupt(fmt::format("imports opset {} of domain {}; opsets begin with 1", import.version,
                                 in_quotes(domain)));
    if (domain.empty() && import.version > kNewestOpset)
      return unsupported(fmt::format(
          "imports opset {}, newer than {}, the newest that hone knows; export the model "
          "for opset {} or older, or convert it: onnx.version_converter.convert_version(model, {})",
          import.version, kNewestOpset, kNewestOpset, kNewestOpset));
    const auto [other, fresh] = opsets.emplace(domain, import.version);
    if (!fresh && other->second != import.version)
      return corrupt(fmt::format("imports two opsets of domain {}", in_quotes(domain)));
  }
  if (opsets.empty() && ir_version < 3) opsets.emplace("", 1);  // files of that time did not say
  return opsets;
}

namespace {

Error too_many_nodes() {
  return unsupported(
      fmt::format("the model has more than {} nodes once its functions are inlined", kMostNodes));
}

}  // namespace

Status NodeReader::read(const std::vector<NodeProto>& nodes) {
  HONE_ASSIGN(const std::vector<std::size_t> order, node_order(nodes));
  for (const NodeProto& node : nodes) {
    frame_.read.insert(node.inputs.begin(), node.inputs.end());
    for (const std::string_view name : free_names(node)) frame_.read.insert(name);
  }
  for (const std::size_t i : order) {
    if (--context_.node_budget < 0) return too_many_nodes();
    if (Status status = read_node(nodes[i]); !status.ok())
      return status.error().within(
          fmt::format("node {} ({})", node_label(nodes[i]), printable(nodes[i].op_type)));
  }
  return {};
}

Status NodeReader::add_initializers(const GraphProto& graph) {
  const auto add = [&](std::string_view name, Result<Tensor> tensor) -> Status {
    if (!tensor.ok()) return tensor.error();
    if (name.empty()) return corrupt("an initializer has no name");
    if (frame_.values.contains(name))
      return corrupt(fmt::format("two initializers are named {}; give each its own name", in_quotes(name)));
    const std::string full = frame_.prefix + std::string(name);
    define(name, frame_.builder.constant(full, *std::move(tensor)));
    return {};
  };
  for (const TensorProto& tensor : graph.initializers)
    HONE_CHECK(add(tensor.name, make_tensor(tensor, context_.source)));
  for (const SparseTensorProto& tensor : graph.sparse_initializers)
    HONE_CHECK(add(tensor.values.name, make_dense(tensor, context_.source)));
  return {};
}

Result<ValueId> NodeReader::find(std::string_view name) const {
  if (name.empty()) return kNoValue;
  const auto value = frame_.values.find(name);
  if (value != frame_.values.end()) return value->second;
  if (frame_.sequences.contains(name))
    return unsupported(
        fmt::format("unsupported: {} is a sequence, which is known to sequence operators only; take its "
                    "elements with SequenceAt or join them with ConcatFromSequence",
                    in_quotes(name)));
  return corrupt(
      fmt::format("reads {}, which is no input, no initializer and no node's output", in_quotes(name)));
}

Result<Operand> NodeReader::find_operand(std::string_view name) const {
  const auto sequence = frame_.sequences.find(name);
  if (sequence != frame_.sequences.end()) return Operand(sequence->second);
  HONE_ASSIGN(const ValueId value, find(name));
  return Operand(value);
}

void NodeReader::define(std::string_view name, const Operand& operand) {
  if (const auto* sequence = std::get_if<SequencePtr>(&operand)) {
    frame_.sequences.insert_or_assign(name, *sequence);
  } else {
    frame_.values.insert_or_assign(name, std::get<ValueId>(operand));
  }
}

std::string NodeReader::name_of(const NodeProto& proto) const { return frame_.prefix + node_name(proto); }

Status NodeReader::read_node(const NodeProto& proto) {
  const std::string_view domain = normal_domain(proto.domain);
  const std::string op = operator_name(domain, proto.op_type);
  const auto opset = frame_.opsets.find(domain);
  const auto custom =
      graph::find_custom(context_.operators, op, opset != frame_.opsets.end() ? opset->second : 0);
  const auto function = context_.functions.find({domain, proto.op_type, proto.overload});
  if (function != context_.functions.end() && custom == nullptr)
    return inline_function(proto, *function->second);
  if (opset == frame_.opsets.end())
    return corrupt(fmt::format("the model imports no opset of its domain {}; add it to opset_import",
                               in_quotes(domain)));
  if (custom != nullptr) return read_operator(proto, op, opset->second, custom);
  if (op == "Constant") return read_constant(proto);
  if (is_gradient(proto)) return read_gradient(proto);
  if (is_sequence_operator(op)) return read_sequence(proto, op);
  if (op == "Identity" && proto.inputs.size() == 1 && proto.outputs.size() == 1)
    if (const auto same = frame_.sequences.find(proto.inputs[0]); same != frame_.sequences.end())
      return define_output(proto.outputs[0], same->second);
  if (op == "Scan" && opset->second < 9)
    return unsupported("unsupported: Scan in its opset 8 form (batched); upgrade the model to opset 9");
  if (graph::op_table().find(op) == nullptr && !(domain.empty() && has_upgrade(op)))
    return unsupported(fmt::format("unsupported: {} (opset {}){}", printable(op), opset->second,
                                   advice_of_plugins(domain, op)));
  return read_operator(proto, op, opset->second, nullptr);
}

Status NodeReader::read_constant(const NodeProto& proto) {
  if (proto.outputs.size() != 1 || proto.attributes.size() != 1)
    return corrupt("a Constant has one output and one attribute");
  HONE_ASSIGN(const AttributeProto* attribute, resolve(proto.attributes[0]));
  if (attribute == nullptr) return corrupt("the function's caller gives no value for it");
  HONE_ASSIGN(Tensor tensor, make_constant(*attribute, context_.source));
  const ValueId value =
      frame_.builder.constant(frame_.prefix + std::string(proto.outputs[0]), std::move(tensor));
  return define_outputs(proto, {value});
}

Status NodeReader::read_sequence(const NodeProto& proto, const std::string& op) {
  if (proto.outputs.size() != 1 || proto.outputs[0].empty())
    return corrupt("gives another number of outputs than one");
  SequenceNode node;
  node.op = op;
  node.name = name_of(proto);
  node.output_name = frame_.prefix + std::string(proto.outputs[0]);
  HONE_ASSIGN(node.attributes, read_attributes(proto));
  HONE_ASSIGN(node.inputs, find_operands(proto));
  HONE_ASSIGN(const Operand made, read_sequence_node(frame_.builder, node, context_.sequence_budget));
  if (drops_axis_unlike_onnx(node)) context_.trust_declared_outputs = false;
  return define_output(proto.outputs[0], made);
}

// What a reader of the message can do about an operator of a foreign domain.
std::string NodeReader::advice_of_plugins(std::string_view domain, std::string_view op) const {
  for (const auto& one : context_.operators)
    if (one->name == op)
      return fmt::format("; plugin {} has it since version {} of the domain", one->plugin,
                         one->since_version);
  if (domain.empty() || domain.starts_with("ai.onnx")) return {};
  return "; a plugin can bring it (--plugin, docs/plugins.md)";
}

Status NodeReader::read_operator(const NodeProto& proto, const std::string& op, int64_t opset,
                                 std::shared_ptr<const graph::CustomOperator> custom) {
  graph::Node node;
  node.op = op;
  node.custom = std::move(custom);
  node.name = name_of(proto);
  node.provenance = {node.name};
  HONE_ASSIGN(node.attributes, read_attributes(proto));
  HONE_ASSIGN(node.inputs, find_inputs(proto));
  HONE_CHECK(attach_bodies(context_, frame_, proto, node));
  std::vector<std::string> names;
  std::vector<bool> wanted;
  for (const std::string_view output : proto.outputs) {
    names.push_back(output.empty() ? "" : frame_.prefix + std::string(output));
    wanted.push_back(frame_.read.contains(output));
  }
  const bool standard = normal_domain(proto.domain).empty();
  Upgrade upgrade(frame_.builder, std::move(node), std::move(names), std::move(wanted), opset);
  if (standard) HONE_CHECK(upgrade_node(upgrade));
  const graph::OpEntry* entry = graph::find_entry(upgrade.node);
  if (entry == nullptr) return unsupported(fmt::format("unsupported: {} (opset {})", upgrade.node.op, opset));
  if (!proto.math.empty() && graph::takes_tf32(upgrade.node))
    upgrade.node.attributes.set(std::string(graph::kProductMath), std::string(proto.math));
  drop_unread_outputs(*entry, upgrade);
  normalize_inputs(upgrade.node);
  HONE_ASSIGN(const std::vector<ValueId> values, upgrade.finish());
  return define_outputs(proto, values);
}

Status NodeReader::define_outputs(const NodeProto& proto, const std::vector<ValueId>& values) {
  for (std::size_t i = 0; i < proto.outputs.size() && i < values.size(); ++i)
    HONE_CHECK(define_output(proto.outputs[i], values[i]));
  return {};
}

Status NodeReader::define_output(std::string_view name, const Operand& operand) {
  const ValueId* value = std::get_if<ValueId>(&operand);
  if (name.empty() || (value != nullptr && !value->valid())) return {};
  if (frame_.values.contains(name) || frame_.sequences.contains(name))
    return corrupt(
        fmt::format("produces {}, which already exists; give each value its own name", in_quotes(name)));
  if (value != nullptr && frame_.builder.producer(*value) != nullptr) merge_declared(frame_, name, *value);
  define(name, operand);
  return {};
}

Result<std::vector<ValueId>> NodeReader::find_inputs(const NodeProto& proto) const {
  std::vector<ValueId> inputs;
  for (const std::string_view name : proto.inputs) {
    HONE_ASSIGN(const ValueId value, find(name));
    inputs.push_back(value);
  }
  return inputs;
}

Result<std::vector<Operand>> NodeReader::find_operands(const NodeProto& proto) const {
  std::vector<Operand> operands;
  for (const std::string_view name : proto.inputs) {
    HONE_ASSIGN(const Operand operand, find_operand(name));
    operands.push_back(operand);
  }
  return operands;
}

Result<const AttributeProto*> NodeReader::resolve(const AttributeProto& attribute) const {
  if (attribute.ref_attr_name.empty()) return &attribute;
  if (frame_.arguments == nullptr)
    return corrupt(fmt::format("attribute {} refers to a function's attribute, but stands in no function",
                               in_quotes(attribute.name)));
  const auto argument = frame_.arguments->find(attribute.ref_attr_name);
  return argument == frame_.arguments->end() ? nullptr : argument->second;
}

Result<Attributes> NodeReader::read_attributes(const NodeProto& proto) const {
  Attributes attributes;
  std::unordered_set<std::string_view> names;
  for (const AttributeProto& stated : proto.attributes) {
    if (stated.name.empty()) return corrupt("an attribute has no name");
    if (!names.insert(stated.name).second)
      return corrupt(fmt::format("attribute {} is given twice", in_quotes(stated.name)));
    HONE_ASSIGN(const AttributeProto* attribute, resolve(stated));
    if (attribute == nullptr || attribute->type == AttributeProto::kGraph) continue;
    HONE_ASSIGN(Attribute value, make_attribute(*attribute, context_.source));
    attributes.set(std::string(stated.name), std::move(value));
  }
  return attributes;
}

int64_t NodeReader::expanded_nodes(const FunctionProto& function, int depth) {
  if (depth > kMaxDepth) return 0;
  const auto [place, fresh] =
      context_.expanded_nodes.emplace(&function, 0);  // 0 within itself, which is refused
  if (!fresh) return place->second;
  int64_t count = 0;
  for (const NodeProto& node : function.nodes) {
    ++count;
    const auto called = context_.functions.find({normal_domain(node.domain), node.op_type, node.overload});
    if (called != context_.functions.end()) count += expanded_nodes(*called->second, depth + 1);
    count = std::min(count, kMostNodes + 1);
  }
  return place->second = count;
}

Status NodeReader::inline_function(const NodeProto& proto, const FunctionProto& function) {
  for (const Frame* caller = &frame_; caller != nullptr; caller = caller->outer)
    if (caller->function == &function)
      return corrupt(
          fmt::format("function {} calls itself, directly or through others; ONNX knows no recursion",
                      in_quotes(function.name)));
  if (frame_.depth >= kMaxDepth) return corrupt("functions call each other too deep");
  // Before they are made, which takes many seconds; an operator of a plugin may stand for a function.
  if (context_.operators.empty() && expanded_nodes(function, frame_.depth) > context_.node_budget)
    return too_many_nodes();
  if (proto.inputs.size() > function.inputs.size() || proto.outputs.size() > function.outputs.size())
    return corrupt("gives its function more inputs or outputs than that has");
  HONE_ASSIGN(OpsetImports opsets, make_opset_imports(function.opset_imports, context_.model->ir_version));
  opsets.insert(context_.opsets.begin(), context_.opsets.end());  // for functions that leave them out

  std::map<std::string_view, const AttributeProto*> arguments;
  for (const AttributeProto& attribute : function.default_attributes) arguments[attribute.name] = &attribute;
  for (const AttributeProto& stated : proto.attributes) {
    HONE_ASSIGN(const AttributeProto* attribute, resolve(stated));
    if (attribute != nullptr) arguments[stated.name] = attribute;
  }

  Frame body(frame_.builder, opsets);
  body.prefix = name_of(proto) + "/";
  body.depth = frame_.depth + 1;
  body.in_body = frame_.in_body;
  body.arguments = &arguments;
  body.function = &function;
  body.outer = &frame_;
  body.read.insert(function.outputs.begin(), function.outputs.end());
  HONE_ASSIGN(std::vector<Operand> inputs, find_operands(proto));
  inputs.resize(function.inputs.size(), kNoValue);
  NodeReader reader(context_, body);
  for (std::size_t i = 0; i < inputs.size(); ++i) reader.define(function.inputs[i], inputs[i]);
  HONE_CHECK(reader.read(function.nodes));

  for (std::size_t i = 0; i < proto.outputs.size(); ++i) {
    HONE_ASSIGN(const Operand output, reader.find_operand(function.outputs[i]));
    HONE_CHECK(define_output(proto.outputs[i], output));
  }
  return {};
}

namespace {

Status add_main_inputs(const ModelContext& context, Frame& frame) {
  for (const ValueInfoProto* input : context.inputs) {
    if (input->name.empty()) return corrupt("an input has no name");
    HONE_ASSIGN(graph::TensorType type, context.bindings.input_type(*input));
    const ValueId value = frame.builder.input(std::string(input->name), std::move(type));
    if (!frame.values.emplace(input->name, value).second)
      return corrupt(fmt::format("two inputs are named {}", in_quotes(input->name)));
  }
  return {};
}

// The value as an output of the model under `name`. Its own name differs where a function was inlined; inputs
// and values that are outputs already keep theirs.
Result<ValueId> named_output(Frame& frame, ValueId value, const std::string& name) {
  graph::GraphBuilder& builder = frame.builder;
  if (builder.value(value).name == name) return value;
  if (builder.producer(value) != nullptr && !builder.is_output(value)) {
    builder.rename(value, name);
    return value;
  }
  graph::Node identity;
  identity.op = "Identity";
  identity.name = name;
  identity.inputs = {value};
  const std::vector<std::string> names{name};
  HONE_ASSIGN(const std::vector<ValueId> outputs, builder.try_add(std::move(identity), names));
  return outputs[0];
}

// Inference that a plugin did is its author's to mend.
std::string whose_inference(const graph::Node* node) {
  if (node == nullptr || node->custom == nullptr) return {};
  return fmt::format(" of node '{}' ({}, plugin {})", node->name, node->op, node->custom->plugin);
}

Status set_main_outputs(const ModelContext& context, Frame& frame, const NodeReader& reader) {
  std::unordered_set<std::string_view> names;
  for (const ValueInfoProto& output : context.model->graph->outputs) {
    const std::string where = "output " + in_quotes(output.name);
    if (output.name.empty()) return corrupt("an output has no name");
    if (!names.insert(output.name).second) return corrupt(where + " is listed twice");
    auto value = reader.find(output.name);
    if (!value.ok() && value.error().code == ErrorCode::kUnsupported) return value.error().within(where);
    if (!value.ok()) return corrupt(where + " is no input, no initializer and no node's output");
    auto declared = context.bindings.declared_type(output.type);
    if (!declared.ok()) return declared.error().within(where);
    auto merged = graph::merge_types(*declared, frame.builder.type(*value));
    if (!merged.ok() && context.trust_declared_outputs)
      return merged.error().within(where + whose_inference(frame.builder.producer(*value)));
    if (merged.ok() && frame.builder.producer(*value) != nullptr) frame.builder.set_type(*value, *merged);
    HONE_ASSIGN(const ValueId named, named_output(frame, *value, std::string(output.name)));
    frame.builder.output(named);
  }
  return {};
}

}  // namespace

Result<graph::Graph> read_main_graph(ModelContext& context) {
  const GraphProto& proto = *context.model->graph;
  if (proto.outputs.empty()) return corrupt("the graph has no outputs");
  graph::GraphBuilder builder(proto.name.empty() ? "model" : std::string(proto.name));
  Frame frame(builder, context.opsets);
  NodeReader reader(context, frame);
  HONE_CHECK(add_main_inputs(context, frame));
  HONE_CHECK(reader.add_initializers(proto));
  for (const ValueInfoProto& value : proto.value_infos) {
    auto type = context.bindings.declared_type(value.type);
    if (type.ok()) frame.declared.emplace(value.name, *std::move(type));
  }
  for (const ValueInfoProto& output : proto.outputs) frame.read.insert(output.name);
  HONE_CHECK(reader.read(proto.nodes));
  HONE_CHECK(set_main_outputs(context, frame, reader));
  HONE_CHECK(read_states(*context.model, builder));
  return std::move(builder).finish();
}

}  // namespace hone::model::onnx
