// ONNX files for tests, written field by field, so that broken ones can be written as well.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace hone::model::testing {

// One message under construction: fields in the order of the calls.
class Proto {
 public:
  Proto& integer(uint32_t field, int64_t value) {
    return add([&](auto& w) { w.add_int64(field, value); });
  }
  Proto& real(uint32_t field, float value) {
    return add([&](auto& w) { w.add_float(field, value); });
  }
  Proto& bytes(uint32_t field, const std::string& value) {
    return add([&](auto& w) { w.add_bytes(field, value); });
  }
  Proto& message(uint32_t field, const Proto& value) { return bytes(field, value.text()); }
  Proto& integers(uint32_t field, const std::vector<int64_t>& values) {
    return add([&](auto& w) { w.add_packed_int64(field, values.begin(), values.end()); });
  }
  Proto& reals(uint32_t field, const std::vector<float>& values) {
    return add([&](auto& w) { w.add_packed_float(field, values.begin(), values.end()); });
  }
  const std::string& text() const { return text_; }

 private:
  template <typename Write>
  Proto& add(Write write) {
    protozero::pbf_writer writer(text_);
    write(writer);
    return *this;
  }
  std::string text_;
};

inline constexpr int kFloat = 1;  // TensorProto.DataType
inline constexpr int kInt32 = 6;
inline constexpr int kInt64 = 7;

inline Proto tensor(const std::string& name, int data_type, const std::vector<int64_t>& dims) {
  Proto proto;
  proto.integers(1, dims).integer(2, data_type).bytes(8, name);
  return proto;
}
inline Proto float_tensor(const std::string& name, const std::vector<int64_t>& dims,
                          const std::vector<float>& values) {
  return tensor(name, kFloat, dims).reals(4, values);
}
inline Proto int_tensor(const std::string& name, const std::vector<int64_t>& dims,
                        const std::vector<int64_t>& values) {
  return tensor(name, kInt64, dims).integers(7, values);
}

// A dimension: a number, or "N" for a symbol, or "" for unknown.
struct TestDim {
  TestDim(int64_t number) : value(number), known(true) {}  // NOLINT: a number is a dimension
  TestDim(const char* symbol) : name(symbol) {}            // NOLINT: a name is one, too
  int64_t value = 0;
  std::string name;
  bool known = false;
};

inline Proto value_info(const std::string& name, const std::vector<TestDim>& dims, int data_type = kFloat) {
  Proto shape;
  for (const TestDim& dim : dims) {
    Proto message;
    if (dim.known) message.integer(1, dim.value);
    if (!dim.name.empty()) message.bytes(2, dim.name);
    shape.message(1, message);
  }
  return Proto().bytes(1, name).message(2,
                                        Proto().message(1, Proto().integer(1, data_type).message(2, shape)));
}

inline Proto attribute(const std::string& name, int64_t value) {
  return Proto().bytes(1, name).integer(3, value).integer(20, 2);
}
inline Proto attribute(const std::string& name, float value) {
  return Proto().bytes(1, name).real(2, value).integer(20, 1);
}
inline Proto attribute(const std::string& name, const std::string& value) {
  return Proto().bytes(1, name).bytes(4, value).integer(20, 3);
}
inline Proto attribute(const std::string& name, const std::vector<int64_t>& values) {
  return Proto().bytes(1, name).integers(8, values).integer(20, 7);
}
inline Proto attribute(const std::string& name, const std::vector<float>& values) {
  return Proto().bytes(1, name).reals(7, values).integer(20, 6);
}
inline Proto tensor_attribute(const std::string& name, const Proto& value) {
  return Proto().bytes(1, name).message(5, value).integer(20, 4);
}
inline Proto graph_attribute(const std::string& name, const Proto& value) {
  return Proto().bytes(1, name).message(6, value).integer(20, 5);
}

inline Proto node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs, const std::vector<Proto>& attributes = {},
                  const std::string& name = {}, const std::string& domain = {}) {
  Proto proto;
  for (const std::string& input : inputs) proto.bytes(1, input);
  for (const std::string& output : outputs) proto.bytes(2, output);
  if (!name.empty()) proto.bytes(3, name);
  proto.bytes(4, op);
  for (const Proto& value : attributes) proto.message(5, value);
  if (!domain.empty()) proto.bytes(7, domain);
  return proto;
}

// The parts of a graph; to_proto() puts them together.
struct TestGraph {
  std::vector<Proto> nodes;
  std::vector<Proto> inputs;
  std::vector<Proto> outputs;
  std::vector<Proto> initializers;
  std::vector<Proto> value_infos;
  std::string name = "test";

  Proto to_proto() const {
    Proto proto;
    for (const Proto& value : nodes) proto.message(1, value);
    proto.bytes(2, name);
    for (const Proto& value : initializers) proto.message(5, value);
    for (const Proto& value : inputs) proto.message(11, value);
    for (const Proto& value : outputs) proto.message(12, value);
    for (const Proto& value : value_infos) proto.message(13, value);
    return proto;
  }
};

inline Proto opset_import(const std::string& domain, int64_t version) {
  return Proto().bytes(1, domain).integer(2, version);
}

inline std::string model(const TestGraph& graph, int64_t opset = 21, const std::vector<Proto>& functions = {},
                         int64_t ir_version = 10) {
  Proto proto;
  proto.integer(1, ir_version).message(7, graph.to_proto()).message(8, opset_import("", opset));
  if (!functions.empty()) proto.message(8, opset_import("local", 1));
  for (const Proto& function : functions) proto.message(25, function);
  return proto.text();
}

}  // namespace hone::model::testing
