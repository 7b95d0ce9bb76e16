#include "model/onnx/graph_writer.h"

#include <fmt/core.h>
#include <protozero/pbf_writer.hpp>

#include "core/onnx_dtype.h"
#include "graph/product_math.h"
#include "model/onnx/proto.h"
#include "model/onnx/target_opset.h"
#include "model/onnx/tensor_proto.h"
#include "model/onnx/tensor_writer.h"

namespace hone::model::onnx {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using protozero::pbf_writer;

// ValueNames of values in the file: ONNX wants them unique across a graph and all graphs inside it.
class NamePool {
 public:
  std::string claim(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
};

using ValueNames = std::vector<std::string>;  // by value index

// Empty messages carry meaning here (a scalar's shape, an unknown extent), and pbf_writer leaves them out
// where it nests: they are put together apart.
std::string shape_message(const graph::Dims& dims) {
  std::string shape;
  for (const graph::Dim& dim : dims) {
    std::string text;
    pbf_writer message(text);
    if (dim.known()) message.add_int64(1, dim.extent());
    if (dim.symbolic()) message.add_string(2, dim.name());
    pbf_writer(shape).add_message(1, text);
  }
  return shape;
}

void write_type(pbf_writer& parent, uint32_t field, const graph::TensorType& type) {
  pbf_writer type_message(parent, field);
  pbf_writer tensor(type_message, 1);
  tensor.add_int32(1, static_cast<int32_t>(dtype_to_onnx(type.dtype)));
  if (type.has_rank()) tensor.add_message(2, shape_message(*type.dims));
}

void write_value_info(pbf_writer& graph, uint32_t field, const std::string& name,
                      const graph::TensorType& type) {
  pbf_writer info(graph, field);
  info.add_string(1, name);
  if (type.dtype != DType::kUndefined) write_type(info, 2, type);
}

struct AttributeWriter {
  pbf_writer& message;

  void kind(AttributeProto::Type type) const { message.add_int32(20, type); }
  void operator()(int64_t value) const {
    message.add_int64(3, value);
    kind(AttributeProto::kInt);
  }
  void operator()(float value) const {
    message.add_float(2, value);
    kind(AttributeProto::kFloat);
  }
  void operator()(const std::string& value) const {
    message.add_bytes(4, value);
    kind(AttributeProto::kString);
  }
  void operator()(const Ints& values) const {
    for (const int64_t value : values) message.add_int64(8, value);
    kind(AttributeProto::kInts);
  }
  void operator()(const Floats& values) const {
    for (const float value : values) message.add_float(7, value);
    kind(AttributeProto::kFloats);
  }
  void operator()(const Strings& values) const {
    for (const std::string& value : values) message.add_bytes(9, value);
    kind(AttributeProto::kStrings);
  }
  void operator()(const Tensor& value) const {
    std::string bytes;
    append_tensor(bytes, value, "");
    message.add_message(5, bytes);
    kind(AttributeProto::kTensor);
  }
};

// An entry of a node's metadata_props, which whoever does not know it ignores.
void write_metadata(pbf_writer& node, std::string_view key, const std::string& value) {
  pbf_writer entry(node, 9);
  entry.add_string(1, key.data(), key.size());
  entry.add_string(2, value);
}

class GraphWriter {
 public:
  explicit GraphWriter(NamePool& pool) : pool_(pool) {}

  // Everything but initializers; `names` has a name for every input, constant and capture already.
  Status write_nodes(const Graph& graph, ValueNames& names, pbf_writer& message) {
    for (const Node& node : graph.nodes()) {
      for (const ValueId output : node.outputs)
        if (output.valid() && names[output.index].empty())
          names[output.index] = pool_.claim(graph.value(output).name);
      if (Status status = write_node(node, names, message); !status.ok())
        return status.error().within(fmt::format("node '{}' ({})", node.name, node.op));
    }
    return {};
  }

 private:
  Status write_node(const Node& node, const ValueNames& names, pbf_writer& message) {
    pbf_writer node_message(message, 1);
    const auto name_of = [&](ValueId id) { return id.valid() ? names[id.index] : std::string(); };
    for (std::size_t i = 0; i + node.captures < node.inputs.size(); ++i)
      node_message.add_string(1, name_of(node.inputs[i]));
    for (const std::string& output : output_names(node, names)) node_message.add_string(2, output);
    node_message.add_string(3, node.name);
    const OperatorName op = split_operator(node.op);
    node_message.add_string(4, op.name.data(), op.name.size());
    if (!op.domain.empty()) node_message.add_string(7, op.domain.data(), op.domain.size());
    for (const auto& [name, attribute] : node.attributes) {
      if (name == "output_layout") continue;  // a memory layout: nothing that ONNX speaks of
      if (name == graph::kProductMath) {
        write_metadata(node_message, kMathMetadata, std::get<std::string>(attribute));
        continue;
      }
      pbf_writer attribute_message(node_message, 5);
      attribute_message.add_string(1, name);
      std::visit(AttributeWriter{attribute_message}, attribute);
    }
    for (std::size_t i = 0; i < node.bodies.size(); ++i) {
      pbf_writer attribute_message(node_message, 5);
      attribute_message.add_string(1, body_name(node, i));
      ValueNames captured;
      for (std::size_t k = node.inputs.size() - node.captures; k < node.inputs.size(); ++k)
        captured.push_back(name_of(node.inputs[k]));
      pbf_writer body(attribute_message, 6);
      HONE_CHECK(write_body(*node.bodies[i], captured, body));
      body.commit();
      attribute_message.add_int32(20, AttributeProto::kGraph);
    }
    return {};
  }

  // A batch normalization that trains has three outputs in ONNX, whether anybody reads them or not.
  std::vector<std::string> output_names(const Node& node, const ValueNames& names) {
    std::vector<std::string> list;
    for (const ValueId id : node.outputs) list.push_back(id.valid() ? names[id.index] : std::string());
    if (node.op == "BatchNormalization" && node.attributes.integer("training_mode", 0) != 0) {
      list.resize(3);
      for (std::string& name : list)
        if (name.empty()) name = pool_.claim(node.name + ".unread");
    }
    return list;
  }

  static const char* body_name(const Node& node, std::size_t i) {
    if (node.op != "If") return "body";
    return i == 0 ? "then_branch" : "else_branch";
  }

  Status write_body(const Graph& body, const ValueNames& captured, pbf_writer& message) {
    if (body.inputs().size() < captured.size())
      return invalid("its sub-graph takes fewer inputs than captures");
    ValueNames names(body.values().size());
    const std::size_t formal = body.inputs().size() - captured.size();
    for (std::size_t i = 0; i < body.inputs().size(); ++i) {
      const ValueId input = body.inputs()[i];
      names[input.index] = i < formal ? pool_.claim(body.value(input).name) : captured[i - formal];
      if (i < formal) write_value_info(message, 11, names[input.index], body.type(input));
    }
    for (uint32_t i = 0; i < body.values().size(); ++i) {
      if (!body.value(ValueId{i}).is_constant()) continue;
      names[i] = pool_.claim(body.value(ValueId{i}).name);
      write_body_constant(body, ValueId{i}, names[i], message);
    }
    message.add_string(2, body.name());
    HONE_CHECK(write_nodes(body, names, message));
    write_body_outputs(body, names, message);
    return {};
  }

  // An initializer or, where the sub-graph gives it back, a Constant node.
  static void write_body_constant(const Graph& body, ValueId value, const std::string& name,
                                  pbf_writer& message) {
    std::string bytes;
    append_tensor(bytes, *body.value(value).constant, name);
    if (!body.is_output(value)) {
      message.add_message(5, bytes);
      return;
    }
    pbf_writer node(message, 1);
    node.add_string(2, name);
    node.add_string(3, name);
    node.add_string(4, "Constant");
    pbf_writer attribute(node, 5);
    attribute.add_string(1, "value");
    attribute.add_message(5, bytes);
    attribute.add_int32(20, AttributeProto::kTensor);
  }

  // A sub-graph gives back only what its own nodes produce, each once; anything else goes through an
  // Identity.
  void write_body_outputs(const Graph& body, const ValueNames& names, pbf_writer& message) {
    std::unordered_set<uint32_t> given;
    for (const ValueId output : body.outputs()) {
      std::string name = names[output.index];
      const bool inside = body.value(output).producer.valid() || body.value(output).is_constant();
      if (!inside || !given.insert(output.index).second) {
        name = pool_.claim(name + ".out");
        pbf_writer identity(message, 1);
        identity.add_string(1, names[output.index]);
        identity.add_string(2, name);
        identity.add_string(3, name);
        identity.add_string(4, "Identity");
      }
      write_value_info(message, 12, name, body.type(output));
    }
  }

  NamePool& pool_;
};

}  // namespace

Result<MainGraph> write_main_graph(const Graph& graph) {
  MainGraph main;
  pbf_writer message(main.bytes);
  message.add_string(2, graph.name());
  NamePool pool;
  ValueNames names;
  for (const graph::Value& value : graph.values()) names.push_back(pool.claim(value.name));
  for (const ValueId input : graph.inputs())
    write_value_info(message, 11, names[input.index], graph.type(input));
  GraphWriter writer(pool);
  HONE_CHECK(writer.write_nodes(graph, names, message));
  for (const ValueId output : graph.outputs())
    write_value_info(message, 12, names[output.index], graph.type(output));
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const graph::Value& value = graph.values()[i];
    if (value.is_constant()) main.initializers.emplace_back(names[i], &*value.constant);
    if (value.producer.valid() && !graph.is_output(ValueId{i}) && value.type.has_rank())
      write_value_info(message, 13, names[i], value.type);
  }
  return main;
}

}  // namespace hone::model::onnx
