// An ONNX model as its file states it: plain structs that point into the file's bytes, nothing interpreted.
// Decoding checks the wire format only; what the fields mean is checked by the reader (reader.h) and by
// make_tensor() (tensor_proto.h). Names and raw data are views: keep the bytes alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace hone::model::onnx {

// Newest operator set of the default domain that the reader knows, and the newest file format.
inline constexpr int64_t kNewestOpset = 28;
inline constexpr int64_t kNewestIrVersion = 14;

// How deep graphs may nest in attributes, types in types, and functions in functions.
inline constexpr int kMaxDepth = 24;

struct TensorProto {
  std::string_view name;
  std::vector<int64_t> dims;
  int32_t data_type = 0;
  std::optional<std::string_view> raw_data;
  std::vector<std::pair<std::string_view, std::string_view>> external_data;
  bool external = false;
  bool segmented = false;    // a part of a tensor; no known writer makes them
  std::string_view message;  // the whole message: typed data fields are decoded when they are needed
};

struct SparseTensorProto {
  TensorProto values;  // its name is the sparse tensor's name
  TensorProto indices;
  std::vector<int64_t> dims;
};

struct DimProto {
  std::optional<int64_t> value;
  std::string_view param;
};

struct TypeProto {
  enum class Kind : uint8_t { kNone, kTensor, kSequence, kMap, kOptional, kSparseTensor, kOpaque };
  Kind kind = Kind::kNone;
  int32_t elem_type = 0;                      // of the tensor, or of the innermost tensor type
  std::optional<std::vector<DimProto>> dims;  // absent: unknown rank
};

struct ValueInfoProto {
  std::string_view name;
  TypeProto type;
};

struct GraphProto;

struct AttributeProto {
  enum Type : int32_t {
    kUndefined = 0,
    kFloat = 1,
    kInt = 2,
    kString = 3,
    kTensor = 4,
    kGraph = 5,
    kFloats = 6,
    kInts = 7,
    kStrings = 8,
    kTensors = 9,
    kGraphs = 10,
    kSparseTensor = 11,
    kSparseTensors = 12,
    kTypeProto = 13,
    kTypeProtos = 14,
  };
  std::string_view name;
  std::string_view ref_attr_name;  // in a function: the function's attribute whose value this one takes
  int32_t type = kUndefined;       // as stated or, in old files, as the fields tell
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<TensorProto> tensors;  // t
  std::vector<GraphProto> graphs;    // g
  std::vector<SparseTensorProto> sparse_tensors;
};

// The key of a node's metadata_props that says how it may multiply (graph/product_math.h): ONNX's own attributes do not.
inline constexpr std::string_view kMathMetadata = "hone.math";

struct NodeProto {
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeProto> attributes;
  std::string_view math;  // what metadata_props say under kMathMetadata
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<SparseTensorProto> sparse_initializers;
  std::vector<ValueInfoProto> inputs;
  std::vector<ValueInfoProto> outputs;
  std::vector<ValueInfoProto> value_infos;
};

struct OperatorSetId {
  std::string_view domain;
  int64_t version = 0;
};

struct FunctionProto {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attributes;        // without defaults
  std::vector<AttributeProto> default_attributes;  // with defaults
  std::vector<NodeProto> nodes;
  std::vector<OperatorSetId> opset_imports;
};

struct ModelProto {
  int64_t ir_version = 0;
  std::vector<OperatorSetId> opset_imports;
  std::string_view producer_name;
  std::optional<GraphProto> graph;
  std::vector<FunctionProto> functions;
  std::vector<std::pair<std::string_view, std::string_view>> metadata;  // metadata_props
};

Result<ModelProto> decode_model(std::string_view bytes);
Result<TensorProto> decode_tensor(std::string_view bytes);

// A name from a file as messages show it: control characters replaced, cut where it is very long; in quotes.
std::string printable(std::string_view name);
std::string in_quotes(std::string_view name);

}  // namespace hone::model::onnx
