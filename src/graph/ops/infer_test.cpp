// Type inference of pointwise, movement, shape and reduction operators, with known, symbolic and unknown
// extents.
#include "graph/ops/infer_test.h"

#include <gtest/gtest.h>

#include "core/onnx_dtype.h"
#include "graph/builder.h"
#include "graph/op_table.h"

namespace hone::graph {
namespace {

const Dim kNamedBatch = Dim::symbol("batch");

// Builds one node on inputs of given types or constants, and tells the text of its first output's type, or
// the error.
class Inference {
 public:
  ValueId x(TensorType type) { return builder_.input("x", std::move(type)); }
  ValueId ints(std::vector<int64_t> values) {
    return builder_.constant("c", Tensor::i64({static_cast<int64_t>(values.size())}, values));
  }
  std::string infer(std::string op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    Node node;
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    const std::vector<std::string> names = {"y"};
    auto outputs = builder_.try_add(std::move(node), names);
    return outputs.ok() ? builder_.type((*outputs)[0]).text() : "error: " + outputs.error().message;
  }
  bool refuses(std::string op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return infer(std::move(op), std::move(inputs), std::move(attributes)).starts_with("error");
  }

 private:
  GraphBuilder builder_{"test"};
};

TEST(Inference, BroadcastKeepsSymbols) {
  Inference t;
  EXPECT_EQ(t.infer("Add", {t.x(f32({kNamedBatch, 1, 4})), t.x(f32({3, 1}))}), "f32[batch,3,4]");
  EXPECT_EQ(t.infer("Less", {t.x(f32({kNamedBatch})), t.x(f32({}))}), "bool[batch]");
  EXPECT_TRUE(t.refuses("Add", {t.x(f32({2})), t.x(f32({3}))}));
  EXPECT_TRUE(t.refuses("Add", {t.x(f32({2})), t.x(tensor_type(DType::kI64, Dims{2}))}));
  EXPECT_TRUE(t.refuses("Exp", {t.x(tensor_type(DType::kI64, Dims{2}))}));
}

// Only what lies the same in every layout, one number or one a channel, may come plain.
TEST(Inference, BroadcastHasOneLayout) {
  Inference t;
  const auto blocked = [&](Dims dims) {
    TensorType type = tensor_type(DType::kF32, std::move(dims));
    type.layout = Layout::kBlocked16;
    return t.x(type);
  };
  const std::string same = tensor_type(DType::kF32, Dims{2, 20, 5, 7}).text();
  for (const Dims& dims : {Dims{}, Dims{1}, Dims{20, 1, 1}, Dims{1, 20, 1, 1}, Dims{1, 1, 1, 1}}) {
    const std::string type = t.infer("Mul", {blocked({2, 20, 5, 7}), t.x(f32(dims))});
    EXPECT_TRUE(type.starts_with(same)) << type;
    EXPECT_NE(type, same) << "the layout is lost";
    EXPECT_EQ(t.infer("Mul", {t.x(f32(dims)), blocked({2, 20, 5, 7})}), type);
  }
  for (const Dims& dims : {Dims{2, 20, 5, 7}, Dims{20, 5, 1}, Dims{7}, Dims{2, 1, 1, 1}, Dims{20, 1},
                           Dims{1, 1, 20, 1, 1}, Dims{kNamedBatch, 1, 1, 1}})
    EXPECT_TRUE(t.refuses("Mul", {blocked({2, 20, 5, 7}), t.x(f32(dims))})) << f32(dims).text();
}

TEST(Inference, ReshapeCancelsSymbols) {
  Inference t;
  const ValueId x = t.x(f32({kNamedBatch, 12, 64}));
  EXPECT_EQ(t.infer("Reshape", {x, t.ints({-1, 768})}), "f32[batch,768]");
  EXPECT_EQ(t.infer("Reshape", {x, t.ints({0, -1})}), "f32[batch,768]");
  EXPECT_EQ(t.infer("Reshape", {x, t.ints({-1})}), "f32[?]");
  EXPECT_EQ(t.infer("Reshape", {x, t.x(tensor_type(DType::kI64, Dims{3}))}), "f32[?,?,?]");
  EXPECT_EQ(t.infer("Reshape", {x, t.x(tensor_type(DType::kI64, Dims{Dim()}))}), "f32[*]");
  EXPECT_TRUE(t.refuses("Reshape", {t.x(f32({2, 3})), t.ints({4})}));
  EXPECT_TRUE(t.refuses("Reshape", {t.x(f32({2, 3})), t.ints({-1, 4})}));
}

TEST(Inference, ViewsFollowTheirAxes) {
  Inference t;
  const ValueId x = t.x(f32({kNamedBatch, 1, 8}));
  EXPECT_EQ(t.infer("Squeeze", {x, t.ints({1})}), "f32[batch,8]");
  EXPECT_EQ(t.infer("Unsqueeze", {x, t.ints({0, -1})}), "f32[1,batch,1,8,1]");
  EXPECT_EQ(t.infer("Flatten", {x}), "f32[batch,8]");
  EXPECT_EQ(t.infer("Shape", {x}, {{"start", int64_t{1}}}), "i64[2]");
  EXPECT_TRUE(t.refuses("Squeeze", {x, t.ints({2})}));
  EXPECT_TRUE(t.refuses("Unsqueeze", {x, t.ints({0, 0})}));
}

TEST(Inference, MovementComputesExtents) {
  Inference t;
  const ValueId x = t.x(f32({kNamedBatch, 3, 8}));
  EXPECT_EQ(t.infer("Transpose", {x}, {{"perm", Ints{2, 0, 1}}}), "f32[8,batch,3]");
  EXPECT_EQ(t.infer("Concat", {x, x}, {{"axis", int64_t{1}}}), "f32[batch,6,8]");
  EXPECT_EQ(t.infer("Slice", {x, t.ints({1, 0}), t.ints({-1, int64_t{1} << 31}), t.ints({2, 0})}),
            "f32[batch,3,6]");
  EXPECT_EQ(t.infer("Pad", {x, t.ints({0, 1, 2, 0, 1, 0})}), "f32[batch,5,10]");
  EXPECT_EQ(t.infer("Expand", {t.x(f32({3, 1})), t.ints({2, 1, 4})}), "f32[2,3,4]");
  EXPECT_EQ(t.infer("Gather", {x, t.ints({0, 1})}, {{"axis", int64_t{-1}}}), "f32[batch,3,2]");
  EXPECT_EQ(t.infer("NonZero", {x}), "i64[3,?]");
  EXPECT_TRUE(t.refuses("Transpose", {x}, {{"perm", Ints{0, 1}}}));
  EXPECT_TRUE(t.refuses("Pad", {x, t.ints({0, 0})}));
}

TEST(Inference, ReductionsDropOrKeepAxes) {
  Inference t;
  const ValueId x = t.x(f32({kNamedBatch, 3, 8}));
  EXPECT_EQ(t.infer("ReduceMean", {x, t.ints({-1})}), "f32[batch,3,1]");
  EXPECT_EQ(t.infer("ReduceMean", {x, t.ints({-1})}, {{"keepdims", int64_t{0}}}), "f32[batch,3]");
  EXPECT_EQ(t.infer("ReduceSum", {x}, {{"keepdims", int64_t{0}}}), "f32[]");
  EXPECT_EQ(t.infer("ReduceSum", {x}, {{"noop_with_empty_axes", int64_t{1}}}), "f32[batch,3,8]");
  EXPECT_EQ(t.infer("ArgMax", {x}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}), "i64[batch,8]");
  EXPECT_TRUE(t.refuses("ReduceSum", {x, t.ints({3})}));
  EXPECT_TRUE(t.refuses("Softmax", {x}, {{"axis", int64_t{5}}}));
}

TEST(Inference, CastsChangeTheDtypeOnly) {
  Inference t;
  const ValueId x = t.x(f32({kNamedBatch}));
  EXPECT_EQ(t.infer("Cast", {x}, {{"to", dtype_to_onnx(DType::kBF16)}}), "bf16[batch]");
  EXPECT_TRUE(t.refuses("Cast", {x}, {{"to", int64_t{99}}}));
  EXPECT_TRUE(t.refuses("BitCast", {x}, {{"to", dtype_to_onnx(DType::kI64)}}));
}

TEST(Cost, CountsWhatOperatorsMustMove) {
  GraphBuilder builder("cost");
  const ValueId table = builder.input("table", f32({1000, 64}));
  const ValueId rows = builder.input("rows", tensor_type(DType::kI64, Dims{4}));
  const ValueId picked = builder.add("Gather", {table, rows});
  builder.output(builder.add("Sigmoid", {picked}));
  auto graph = std::move(builder).finish();
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const Cost gather = node_cost(*graph, graph->nodes()[0]);
  EXPECT_EQ(gather.flops, 0);
  EXPECT_EQ(gather.bytes_read, 4 * 64 * 4 + 4 * 8);  // the rows that it picks, not the table
  EXPECT_EQ(gather.bytes_written, 4 * 64 * 4);
  EXPECT_EQ(node_cost(*graph, graph->nodes()[1]).flops, 4 * 4 * 64);
}

}  // namespace
}  // namespace hone::graph
