// The table that passes ask, against the lowerings that it speaks for: what it promises is taken.
#include "runtime/cpu/capabilities.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/op_table.h"
#include "runtime/cpu/cpu_provider.h"
#include "runtime/lower/pointwise_table.h"

namespace hone::runtime {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

// Between numbers and steps of a range: these round to their type, whatever a group holds.
bool converts(std::string_view op) {
  return op == "Cast" || op == "QuantizeLinear" || op == "DequantizeLinear";
}

// A graph of one `op` on operands of `type`; nullopt where the operator does not exist on them.
std::optional<graph::Graph> graph_of_operator(std::string_view op, DType type) {
  if ((op == "QuantizeLinear" && type != DType::kF32) || (op == "DequantizeLinear" && !is_integer(type)))
    return std::nullopt;
  const graph::OpEntry* entry = graph::op_table().find(op);
  GraphBuilder builder("one");
  graph::Node node;
  node.op = op;
  node.name = "node";
  node.provenance = {"node"};
  for (int i = 0; i < std::max(1, entry->min_inputs); ++i) {
    const bool scale = i == 1 && converts(op);
    const DType operand = op == "Where" && i == 0 ? DType::kBool : scale ? DType::kF32 : type;
    node.inputs.push_back(
        builder.input("x" + std::to_string(i), graph::tensor_type(operand, scale ? Shape{} : Shape{3, 5})));
  }
  if (op == "Cast") node.attributes.set("to", int64_t{1});
  if (op == "BitShift") node.attributes.set("direction", std::string("LEFT"));
  const auto outputs = builder.try_add(std::move(node), std::vector<std::string>{"y"});
  if (!outputs.ok()) return std::nullopt;
  builder.set_outputs(*outputs);
  return *std::move(builder).finish();
}

TEST(CpuCapabilities, EveryPointwiseOperatorOfTheTableHasAKernelForItsTypes) {
  const CpuProvider provider(1);
  for (const graph::PointwiseCapability& row : provider.capabilities().pointwise) {
    ASSERT_NE(graph::op_table().find(row.op), nullptr) << row.op << " is no operator";
    int checked = 0;
    for (const DType type : {DType::kF16, DType::kF32, DType::kF64, DType::kI8, DType::kI32, DType::kI64,
                             DType::kU8, DType::kU32, DType::kBool}) {
      if (!row.types.holds(type)) continue;
      const auto graph = graph_of_operator(row.op, type);
      if (!graph) continue;
      ++checked;
      EXPECT_TRUE(provider.runs(*graph, graph->nodes()[0])) << row.op << " of " << dtype_name(type);
    }
    EXPECT_GT(checked, 0) << row.op << " is in the table without a type that it exists on";
  }
}

TEST(CpuCapabilities, GroupsHoldNoTypeThatTheyWouldComputeInAnother) {
  for (const graph::PointwiseCapability& row : cpu::capabilities().pointwise) {
    if (converts(row.op)) continue;
    EXPECT_FALSE(row.types.holds(DType::kI8)) << row.op;
  }
}

TEST(CpuCapabilities, OperatorsOfIntegersFuseToo) {
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "Mean", "IsInf"})
    EXPECT_NE(cpu::capabilities().find_pointwise(op), nullptr) << op;
}

TEST(CpuCapabilities, EveryEpilogueHasAKernelBehindAProduct) {
  const CpuProvider provider(1);
  for (const graph::EpilogueCapability& row : cpu::capabilities().epilogue) {
    GraphBuilder body("body");
    const ValueId x = body.input("x", graph::tensor_type(DType::kF32, Shape{4, 8}));
    const ValueId w = body.input("w", graph::tensor_type(DType::kF32, Shape{8, 8}));
    const ValueId product = body.add("MatMul", {x, w});
    std::vector<ValueId> operands{product};
    if (row.binary) operands.push_back(body.input("r", graph::tensor_type(DType::kF32, Shape{4, 8})));
    if (row.pair) operands.push_back(body.constant("scale", Tensor::scalar_f32(0.5F)));
    ValueId result = body.add(std::string(row.op), operands);
    if (row.pair) result = body.add("DequantizeLinear", {result, operands[1]});
    body.output(result);
    GraphBuilder builder("group");
    graph::Node group;
    group.op = "hone.Fused";
    group.name = "group";
    group.provenance = {"group"};
    group.attributes.set("kind", std::string("matmul"));
    group.inputs = {builder.input("x", graph::tensor_type(DType::kF32, Shape{4, 8})),
                    builder.constant("w", Tensor::zeros(DType::kF32, {8, 8}))};
    if (row.binary) group.inputs.push_back(builder.input("r", graph::tensor_type(DType::kF32, Shape{4, 8})));
    group.bodies = {std::make_shared<const graph::Graph>(*std::move(body).finish())};
    builder.set_outputs(*builder.try_add(std::move(group), std::vector<std::string>{"y"}));
    const graph::Graph graph = *std::move(builder).finish();
    EXPECT_TRUE(provider.runs(graph, graph.nodes()[0])) << row.op;
  }
}

}  // namespace
}  // namespace hone::runtime
