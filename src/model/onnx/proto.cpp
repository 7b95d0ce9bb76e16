// Decoding of ONNX messages, one function a message. Field numbers are those of onnx.proto (IR version 13).
#include "model/onnx/proto.h"

#include <fmt/core.h>

#include "model/onnx/wire.h"

namespace hone::model::onnx {
namespace {

std::pair<std::string_view, std::string_view> decode_entry(Message message) {
  std::pair<std::string_view, std::string_view> entry;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        entry.first = message.bytes();
        break;
      case 2:
        entry.second = message.bytes();
        break;
      default:
        message.skip();
    }
  }
  return entry;
}

TensorProto decode_tensor_message(std::string_view bytes) {
  TensorProto tensor;
  tensor.message = bytes;
  Message message(bytes);
  while (message.next()) {
    switch (message.field()) {
      case 1:
        message.append_integers(tensor.dims);
        break;
      case 2:
        tensor.data_type = message.small_integer();
        break;
      case 3:
        tensor.segmented = true;
        message.skip();
        break;
      case 8:
        tensor.name = message.bytes();
        break;
      case 9:
        tensor.raw_data = message.bytes();
        break;
      case 13:
        tensor.external_data.push_back(decode_entry(message.message()));
        break;
      case 14:
        tensor.external = message.integer() == 1;
        break;
      default:
        message.skip();
    }
  }
  return tensor;
}

SparseTensorProto decode_sparse(Message message) {
  SparseTensorProto sparse;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        sparse.values = decode_tensor_message(message.bytes());
        break;
      case 2:
        sparse.indices = decode_tensor_message(message.bytes());
        break;
      case 3:
        message.append_integers(sparse.dims);
        break;
      default:
        message.skip();
    }
  }
  return sparse;
}

DimProto decode_dim(Message message) {
  DimProto dim;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        dim.value = message.integer();
        break;
      case 2:
        dim.param = message.bytes();
        break;
      default:
        message.skip();
    }
  }
  return dim;
}

void decode_tensor_type(Message message, TypeProto& type) {
  while (message.next()) {
    switch (message.field()) {
      case 1:
        type.elem_type = message.small_integer();
        break;
      case 2: {
        Message shape = message.message();
        type.dims.emplace();
        while (shape.next()) {
          if (shape.field() == 1)
            type.dims->push_back(decode_dim(shape.message()));
          else
            shape.skip();
        }
        break;
      }
      default:
        message.skip();
    }
  }
}

TypeProto decode_type(Message message, int depth);

// Sequence, Optional: one field, the element's type. What is kept is the innermost tensor's element type.
TypeProto decode_wrapped(Message message, TypeProto::Kind kind, int depth) {
  TypeProto type;
  while (message.next()) {
    if (message.field() == 1)
      type = decode_type(message.message(), depth + 1);
    else
      message.skip();
  }
  type.kind = kind;
  return type;
}

TypeProto decode_type(Message message, int depth) {
  if (depth > kMaxDepth) throw WireError("types are nested too deep");
  TypeProto type;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        type = {};
        type.kind = TypeProto::Kind::kTensor;
        decode_tensor_type(message.message(), type);
        break;
      case 4:
        type = decode_wrapped(message.message(), TypeProto::Kind::kSequence, depth);
        break;
      case 5:
        type.kind = TypeProto::Kind::kMap;
        message.skip();
        break;
      case 7:
        type.kind = TypeProto::Kind::kOpaque;
        message.skip();
        break;
      case 8:
        type.kind = TypeProto::Kind::kSparseTensor;
        message.skip();
        break;
      case 9:
        type = decode_wrapped(message.message(), TypeProto::Kind::kOptional, depth);
        break;
      default:
        message.skip();
    }
  }
  return type;
}

ValueInfoProto decode_value_info(Message message) {
  ValueInfoProto value;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        value.name = message.bytes();
        break;
      case 2:
        value.type = decode_type(message.message(), 0);
        break;
      default:
        message.skip();
    }
  }
  return value;
}

GraphProto decode_graph(Message message, int depth);

// Files before IR version 3 leave the type out; then the field that is filled tells it.
void note_type(int32_t& found, AttributeProto::Type type) {
  if (found == AttributeProto::kUndefined) found = type;
}

AttributeProto decode_attribute(Message message, int depth) {
  AttributeProto attribute;
  int32_t found = AttributeProto::kUndefined;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        attribute.name = message.bytes();
        break;
      case 2:
        attribute.f = message.real();
        note_type(found, AttributeProto::kFloat);
        break;
      case 3:
        attribute.i = message.integer();
        note_type(found, AttributeProto::kInt);
        break;
      case 4:
        attribute.s = message.bytes();
        note_type(found, AttributeProto::kString);
        break;
      case 5:
        attribute.tensors.assign(1, decode_tensor_message(message.bytes()));
        note_type(found, AttributeProto::kTensor);
        break;
      case 6:
        attribute.graphs.clear();
        attribute.graphs.push_back(decode_graph(message.message(), depth + 1));
        note_type(found, AttributeProto::kGraph);
        break;
      case 7:
        message.append_floats(attribute.floats);
        note_type(found, AttributeProto::kFloats);
        break;
      case 8:
        message.append_integers(attribute.ints);
        note_type(found, AttributeProto::kInts);
        break;
      case 9:
        attribute.strings.push_back(message.bytes());
        note_type(found, AttributeProto::kStrings);
        break;
      case 20:
        attribute.type = message.small_integer();
        break;
      case 21:
        attribute.ref_attr_name = message.bytes();
        break;
      case 22:
        attribute.sparse_tensors.assign(1, decode_sparse(message.message()));
        note_type(found, AttributeProto::kSparseTensor);
        break;
      default:
        message.skip();
    }
  }
  if (attribute.type == AttributeProto::kUndefined) attribute.type = found;
  return attribute;
}

NodeProto decode_node(Message message, int depth) {
  NodeProto node;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        node.inputs.push_back(message.bytes());
        break;
      case 2:
        node.outputs.push_back(message.bytes());
        break;
      case 3:
        node.name = message.bytes();
        break;
      case 4:
        node.op_type = message.bytes();
        break;
      case 5:
        node.attributes.push_back(decode_attribute(message.message(), depth));
        break;
      case 7:
        node.domain = message.bytes();
        break;
      case 8:
        node.overload = message.bytes();
        break;
      case 9:
        if (const auto [key, value] = decode_entry(message.message()); key == kMathMetadata)
          node.math = value;
        break;
      default:
        message.skip();
    }
  }
  // Checked here so that a file of empty messages cannot grow into a much larger list of nodes.
  if (node.op_type.empty()) throw WireError("node " + in_quotes(node.name) + " has no op_type");
  return node;
}

GraphProto decode_graph(Message message, int depth) {
  if (depth > kMaxDepth) throw WireError("graphs are nested too deep");
  GraphProto graph;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        graph.nodes.push_back(decode_node(message.message(), depth));
        break;
      case 2:
        graph.name = message.bytes();
        break;
      case 5:
        graph.initializers.push_back(decode_tensor_message(message.bytes()));
        break;
      case 11:
        graph.inputs.push_back(decode_value_info(message.message()));
        break;
      case 12:
        graph.outputs.push_back(decode_value_info(message.message()));
        break;
      case 13:
        graph.value_infos.push_back(decode_value_info(message.message()));
        break;
      case 15:
        graph.sparse_initializers.push_back(decode_sparse(message.message()));
        break;
      default:
        message.skip();
    }
  }
  return graph;
}

OperatorSetId decode_opset(Message message) {
  OperatorSetId opset;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        opset.domain = message.bytes();
        break;
      case 2:
        opset.version = message.integer();
        break;
      default:
        message.skip();
    }
  }
  return opset;
}

FunctionProto decode_function(Message message) {
  FunctionProto function;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        function.name = message.bytes();
        break;
      case 4:
        function.inputs.push_back(message.bytes());
        break;
      case 5:
        function.outputs.push_back(message.bytes());
        break;
      case 6:
        function.attributes.push_back(message.bytes());
        break;
      case 7:
        function.nodes.push_back(decode_node(message.message(), 0));
        break;
      case 9:
        function.opset_imports.push_back(decode_opset(message.message()));
        break;
      case 10:
        function.domain = message.bytes();
        break;
      case 11:
        function.default_attributes.push_back(decode_attribute(message.message(), 0));
        break;
      case 13:
        function.overload = message.bytes();
        break;
      default:
        message.skip();
    }
  }
  return function;
}

ModelProto decode_model_message(Message message) {
  ModelProto model;
  while (message.next()) {
    switch (message.field()) {
      case 1:
        model.ir_version = message.integer();
        break;
      case 2:
        model.producer_name = message.bytes();
        break;
      case 7:
        model.graph = decode_graph(message.message(), 0);
        break;
      case 8:
        model.opset_imports.push_back(decode_opset(message.message()));
        break;
      case 14:
        model.metadata.push_back(decode_entry(message.message()));
        break;
      case 25:
        model.functions.push_back(decode_function(message.message()));
        break;
      default:
        message.skip();
    }
  }
  return model;
}

template <typename Decode>
auto guarded(const char* what, Decode decode) -> Result<decltype(decode())> {
  try {
    return decode();
  } catch (const WireError& error) {
    return corrupt(std::string("not a valid ") + what + ": " + error.what());
  } catch (const protozero::exception& error) {
    return corrupt(std::string("not a valid ") + what + ": its protobuf is broken or cut off (" +
                   error.what() + "); get the file again or export it anew");
  }
}

}  // namespace

Result<ModelProto> decode_model(std::string_view bytes) {
  if (bytes.starts_with("version https://git-lfs"))
    return corrupt("not an ONNX model, but a pointer to one in Git LFS; fetch it with 'git lfs pull'");
  return guarded("ONNX model", [&] { return decode_model_message(Message(bytes)); });
}

Result<TensorProto> decode_tensor(std::string_view bytes) {
  return guarded("ONNX tensor", [&] { return decode_tensor_message(bytes); });
}

std::string printable(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  std::string text;
  for (const char c : name.substr(0, kLongest))
    text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (name.size() > kLongest) text += "…";
  return text;
}

std::string in_quotes(std::string_view name) { return fmt::format("'{}'", printable(name)); }

}  // namespace hone::model::onnx
