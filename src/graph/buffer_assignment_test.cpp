#include "graph/buffer_assignment.h"

#include <gtest/gtest.h>

#include "graph/builder.h"

namespace hone::graph {
namespace {

TEST(BufferAssignment, ConcatOfWholeRowsIsWrittenInPlace) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{1, 2, 3}));
  ValueId left = b.add("Relu", {x});
  ValueId right = b.add("Neg", {x});
  ValueId joined = b.add("Concat", {left, right}, {{"axis", int64_t{1}}});
  b.output(b.add("Abs", {joined}));
  const Graph g = *std::move(b).finish();
  const BufferAssignment buffers(g);
  EXPECT_TRUE(buffers.elided(NodeId{2}));
  const ValueId whole = g.nodes()[2].outputs[0];
  EXPECT_EQ(buffers.place(g.nodes()[0].outputs[0]).root, whole);
  EXPECT_EQ(buffers.place(g.nodes()[1].outputs[0]).root, whole);
  EXPECT_EQ(buffers.place(g.nodes()[1].outputs[0]).offset, 24u);
  EXPECT_EQ(buffers.first_definition(whole), 0u);
}

TEST(BufferAssignment, ConcatAcrossRowsIsNot) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2, 2}));
  ValueId joined = b.add("Concat", {b.add("Relu", {x}), b.add("Neg", {x})}, {{"axis", int64_t{1}}});
  b.output(joined);
  const Graph g = *std::move(b).finish();
  EXPECT_FALSE(BufferAssignment(g).elided(NodeId{2}));
}

TEST(BufferAssignment, AnInputIsNeverOverwritten) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{4}));
  b.output(b.add("Relu", {x}));
  const Graph g = *std::move(b).finish();
  BufferAssignment buffers(g);
  EXPECT_FALSE(buffers.try_in_place(NodeId{0}, 0));
}

TEST(BufferAssignment, AnOperandStillReadLaterIsNotOverwritten) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{4}));
  ValueId a = b.add("Relu", {x});
  ValueId c = b.add("Neg", {a});
  b.output(b.add("Add", {a, c}));
  const Graph g = *std::move(b).finish();
  BufferAssignment buffers(g);
  EXPECT_FALSE(buffers.try_in_place(NodeId{1}, 0));
  EXPECT_TRUE(buffers.try_in_place(NodeId{2}, 0));
}

}  // namespace
}  // namespace hone::graph
