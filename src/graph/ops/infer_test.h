// How tests of the operator table ask for types and costs of one node.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/op_table.h"

namespace hone::graph {

// Types such as "f32[N,3,8,8]", constants, or absent inputs.
struct TestInput {
  TensorType type;
  std::optional<Tensor> constant;
  bool absent = false;

  TestInput(TensorType t) : type(std::move(t)) {}                                           // NOLINT
  TestInput(Tensor t) : type(tensor_type(t.dtype(), t.shape())), constant(std::move(t)) {}  // NOLINT
  static TestInput none() {
    TestInput input{TensorType{}};
    input.absent = true;
    return input;
  }
};

inline const Dim kBatch = Dim::symbol("N");

inline TensorType f32(Dims dims) { return tensor_type(DType::kF32, std::move(dims)); }
inline Tensor int_constant(std::vector<int64_t> values) {
  return Tensor::i64({static_cast<int64_t>(values.size())}, values);
}

// The text of each output's type, or the error.
inline Result<std::vector<std::string>> infer_text(std::string op, const std::vector<TestInput>& inputs,
                                                   Attributes attributes = {}, std::size_t outputs = 1) {
  Node node;
  node.op = std::move(op);
  node.attributes = std::move(attributes);
  std::deque<Value> values;
  std::vector<const Value*> pointers;
  for (const TestInput& input : inputs) {
    node.inputs.push_back(input.absent ? kNoValue : ValueId{static_cast<uint32_t>(values.size())});
    values.push_back({.name = "v", .type = input.type, .constant = input.constant, .producer = {}});
    pointers.push_back(input.absent ? nullptr : &values.back());
  }
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(ValueId{static_cast<uint32_t>(100 + i)});
  auto types = infer_types(node, pointers);
  if (!types.ok()) return types.error();
  std::vector<std::string> texts;
  for (const TensorType& type : *types) texts.push_back(type.text());
  return texts;
}

inline std::string first_type(std::string op, const std::vector<TestInput>& inputs,
                              Attributes attributes = {}) {
  auto texts = infer_text(std::move(op), inputs, std::move(attributes));
  return texts.ok() ? texts->front() : "error: " + texts.error().message;
}

// The cost of a node on inputs of static types.
inline Cost cost_of(const std::string& op, const std::vector<TensorType>& inputs, Attributes attributes = {},
                    std::size_t outputs = 1) {
  GraphBuilder builder("test");
  std::vector<ValueId> ids;
  for (const TensorType& type : inputs) ids.push_back(builder.input("x" + std::to_string(ids.size()), type));
  for (ValueId output : builder.add_many(op, ids, outputs, std::move(attributes))) builder.output(output);
  auto graph = std::move(builder).finish();
  return graph.ok() ? node_cost(*graph, graph->nodes().front()) : Cost{-1, -1, -1, -1};
}

}  // namespace hone::graph
