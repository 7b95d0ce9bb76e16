// Sub-graphs of If, Loop and Scan, made closed.
#include <algorithm>

#include <fmt/core.h>

#include "model/onnx/graph_reader.h"
#include "model/onnx/node_order.h"

namespace hone::model::onnx {
namespace {

using graph::kNoValue;
using graph::TensorType;
using graph::ValueId;

struct Capture {
  std::string_view name;  // that leads to it; empty for an element of a sequence that no name leads to
  ValueId value;          // outside
  TensorType type;        // that the bodies see
};

// What the sub-graphs of one node read from outside.
struct Captures {
  std::vector<Capture> values;  // elements of sequences, too
  std::vector<std::pair<std::string_view, SequencePtr>> sequences;
};

std::vector<const GraphProto*> body_protos(const NodeProto& proto) {
  std::vector<const GraphProto*> bodies;
  for (const char* name : {"then_branch", "else_branch", "body"})
    for (const AttributeProto& attribute : proto.attributes)
      if (attribute.name == name && !attribute.graphs.empty()) bodies.push_back(&attribute.graphs[0]);
  return bodies;
}

bool has_graphs(const NodeProto& proto) {
  return std::any_of(proto.attributes.begin(), proto.attributes.end(), [](const AttributeProto& attribute) {
    return !attribute.graphs.empty() || attribute.type == AttributeProto::kGraph;
  });
}

// Which inputs of a body carry state, and where they stand among its inputs and its outputs.
struct BodyShape {
  std::vector<TensorType> inputs;
  std::size_t first_state = 0;
  std::size_t states = 0;
  std::size_t first_state_output = 0;
};

TensorType type_or_unknown(const Frame& frame, ValueId value) {
  return value.valid() ? frame.builder.type(value) : TensorType();
}

// One slice of a scanned input: its type without the axis that is scanned.
Result<TensorType> slice_type(TensorType type, int64_t axis) {
  if (!type.has_rank()) return type;
  HONE_ASSIGN(const int64_t at, normalize_axis(axis, type.rank()));
  type.dims->erase(type.dims->begin() + at);
  return type;
}

Result<BodyShape> body_shape(const Frame& frame, const graph::Node& node) {
  BodyShape shape;
  if (node.op == "If") return shape;
  if (node.op == "Loop") {
    shape.inputs = {graph::tensor_type(DType::kI64, Shape{}), graph::tensor_type(DType::kBool, Shape{})};
    for (std::size_t i = 2; i < node.inputs.size(); ++i)
      shape.inputs.push_back(type_or_unknown(frame, node.inputs[i]));
    shape.first_state = 2;
    shape.states = node.inputs.size() - 2;
    shape.first_state_output = 1;
    return shape;
  }
  if (node.op != "Scan")
    return unsupported(fmt::format("unsupported: {} (an operator with sub-graphs)", node.op));
  const int64_t scans = node.attributes.integer("num_scan_inputs", 0);
  if (scans < 1 || static_cast<std::size_t>(scans) > node.inputs.size())
    return corrupt("num_scan_inputs does not fit its inputs");
  shape.states = node.inputs.size() - static_cast<std::size_t>(scans);
  const Ints axes = node.attributes.ints("scan_input_axes");
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    TensorType type = type_or_unknown(frame, node.inputs[i]);
    if (i >= shape.states) {
      const std::size_t scan = i - shape.states;
      HONE_ASSIGN(type, slice_type(std::move(type), scan < axes.size() ? axes[scan] : 0));
    }
    shape.inputs.push_back(std::move(type));
  }
  return shape;
}

// Inputs of the body: formal ones, then captures. `trust_declared`: what the file says of formal ones is
// merged.
Status add_body_inputs(const ModelContext& context, const Frame& outer, const GraphProto& proto,
                       const std::vector<TensorType>& formal, bool trust_declared, const Captures& captures,
                       Frame& frame) {
  if (proto.inputs.size() != formal.size())
    return corrupt(fmt::format("its sub-graph {} takes {} inputs, but {} are given", in_quotes(proto.name),
                               proto.inputs.size(), formal.size()));
  for (std::size_t i = 0; i < formal.size(); ++i) {
    const ValueInfoProto& input = proto.inputs[i];
    HONE_ASSIGN(const TensorType declared, context.bindings.declared_type(input.type));
    TensorType type = formal[i];
    if (trust_declared || type.dtype == DType::kUndefined)
      if (auto merged = graph::merge_types(declared, type); merged.ok()) type = *merged;
    if (input.name.empty()) return corrupt("an input of its sub-graph has no name");
    if (!frame.values.emplace(input.name, frame.builder.input(std::string(input.name), type)).second)
      return corrupt(fmt::format("two inputs of its sub-graph are named {}", in_quotes(input.name)));
  }
  std::unordered_map<ValueId, ValueId> inner_values;
  for (const Capture& capture : captures.values) {
    const graph::Value& value = outer.builder.value(capture.value);
    const std::string name = capture.name.empty() ? value.name : std::string(capture.name);
    const ValueId inner = value.is_constant() ? frame.builder.constant(name, *value.constant)
                                              : frame.builder.input(name, capture.type);
    inner_values.emplace(capture.value, inner);
    if (!capture.name.empty()) frame.values.emplace(capture.name, inner);
  }
  for (const auto& [name, outside] : captures.sequences) {
    Sequence inside{outside->dtype, {}};
    for (const ValueId element : outside->elements) inside.elements.push_back(inner_values.at(element));
    frame.sequences.emplace(name, std::make_shared<const Sequence>(std::move(inside)));
  }
  return {};
}

Result<graph::Graph> read_body(ModelContext& context, const Frame& outer, const GraphProto& proto,
                               const std::vector<TensorType>& formal, bool trust_declared,
                               const Captures& captures) {
  graph::GraphBuilder builder(proto.name.empty() ? "body" : std::string(proto.name));
  Frame frame(builder, outer.opsets);
  frame.depth = outer.depth + 1;
  frame.outer = &outer;
  frame.in_body = true;
  frame.arguments = outer.arguments;
  HONE_CHECK(add_body_inputs(context, outer, proto, formal, trust_declared, captures, frame));
  NodeReader reader(context, frame);
  HONE_CHECK(reader.add_initializers(proto));
  for (const ValueInfoProto& output : proto.outputs) frame.read.insert(output.name);
  HONE_CHECK(reader.read(proto.nodes));
  for (const ValueInfoProto& output : proto.outputs) {
    if (output.name.empty()) return corrupt("an output of its sub-graph has no name");
    HONE_ASSIGN(const ValueId value, reader.find(output.name));
    builder.output(value);
  }
  return std::move(builder).finish();
}

// Widens the types of carried values to what holds for every iteration. True if they already did.
Result<bool> widen_states(BodyShape& shape, const graph::Graph& body) {
  if (body.outputs().size() < shape.first_state_output + shape.states)
    return corrupt("its sub-graph gives fewer outputs than there are carried values");
  bool stable = true;
  for (std::size_t i = 0; i < shape.states; ++i) {
    TensorType& in = shape.inputs[shape.first_state + i];
    const TensorType& out = body.type(body.outputs()[shape.first_state_output + i]);
    if (in.dtype != DType::kUndefined && out.dtype != DType::kUndefined && in.dtype != out.dtype)
      return corrupt(fmt::format("its sub-graph takes carried value {} as {} and gives it back as {}", i,
                                 dtype_name(in.dtype), dtype_name(out.dtype)));
    if (!in.has_rank()) continue;
    if (!out.has_rank() || out.rank() != in.rank()) {
      in.dims.reset();
      stable = false;
      continue;
    }
    for (std::size_t axis = 0; axis < in.dims->size(); ++axis) {
      graph::Dim& dim = (*in.dims)[axis];
      if (dim == graph::Dim() || dim.same_as((*out.dims)[axis])) continue;
      dim = graph::Dim();
      stable = false;
    }
  }
  return stable;
}

Status add_bodies(ModelContext& context, const Frame& frame, const NodeProto& proto, BodyShape shape,
                  const Captures& captures, graph::Node& node) {
  node.bodies.clear();
  for (const GraphProto* body_proto : body_protos(proto)) {
    // A carried value may change its shape from one iteration to the next: read the body with what the first
    // one gets, widen the types by what it gives back, and read it again until nothing changes. Extents only
    // ever become unknown, so this ends; three rounds settle every body that is not built to need more.
    for (int round = 0;; ++round) {
      HONE_ASSIGN(graph::Graph body,
                  read_body(context, frame, *body_proto, shape.inputs, round == 0, captures));
      HONE_ASSIGN(const bool stable, widen_states(shape, body));
      if (!stable && round < 3) continue;
      node.bodies.push_back(std::make_shared<const graph::Graph>(std::move(body)));
      break;
    }
  }
  return {};
}

Result<Captures> find_captures(ModelContext& context, const Frame& frame, const NodeProto& proto) {
  Captures captures;
  for (const std::string_view name : free_names(proto)) {
    if (const auto sequence = frame.sequences.find(name); sequence != frame.sequences.end()) {
      captures.sequences.emplace_back(name, sequence->second);
      HONE_CHECK(spend_elements(context.sequence_budget, sequence->second->elements.size()));
      continue;
    }
    const auto value = frame.values.find(name);
    if (value == frame.values.end())
      return corrupt(
          fmt::format("its sub-graph reads {}, which exists neither there nor outside", in_quotes(name)));
    if (value->second.valid())
      captures.values.push_back({name, value->second, frame.builder.type(value->second)});
  }
  std::unordered_set<ValueId> captured;
  for (const Capture& capture : captures.values) captured.insert(capture.value);
  for (const auto& [name, sequence] : captures.sequences)
    for (const ValueId element : sequence->elements)
      if (captured.insert(element).second)
        captures.values.push_back({{}, element, frame.builder.type(element)});
  return captures;
}

}  // namespace

Status attach_bodies(ModelContext& context, Frame& frame, const NodeProto& proto, graph::Node& node) {
  if (!has_graphs(proto)) return {};
  if (frame.depth >= kMaxDepth) return corrupt("sub-graphs are nested too deep");
  if (node.op == "Loop" && node.inputs.size() < 2) node.inputs.resize(2, kNoValue);
  HONE_ASSIGN(const BodyShape shape, body_shape(frame, node));
  HONE_ASSIGN(Captures captures, find_captures(context, frame, proto));
  if (Status status = add_bodies(context, frame, proto, shape, captures, node); !status.ok()) {
    if (node.op != "If" || status.error().code == ErrorCode::kUnsupported) return status;
    // A branch may be there for other shapes than those given, and contradict these. It will not be taken:
    // read both again without knowing shapes. What is wrong for all shapes fails again.
    for (Capture& capture : captures.values) capture.type.dims.reset();
    if (!add_bodies(context, frame, proto, shape, captures, node).ok()) return status;
  }
  for (const Capture& capture : captures.values) {
    if (frame.builder.value(capture.value).is_constant()) continue;
    node.inputs.push_back(capture.value);
    ++node.captures;
  }
  return {};
}

}  // namespace hone::model::onnx
