#include "graph/buffer_assignment.h"

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/text.h"

namespace hone::graph {
namespace {

TEST(BufferAssignment, ConcatOfWholeRowsIsWrittenInPlace) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{1, 2, 4}));
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
  EXPECT_EQ(buffers.place(g.nodes()[1].outputs[0]).offset, 32u);
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

// A GPU's kernels read and write 16 bytes at a time.
TEST(BufferAssignment, PartsThatWouldBeginOffAlignmentAreCopied) {
  for (const int64_t columns : {3, 4}) {
    GraphBuilder b("parts");
    const ValueId x = b.input("x", tensor_type(DType::kF32, Shape{columns}));
    b.output(b.add("Concat", {b.add("Relu", {x}), b.add("Neg", {x})}, {{"axis", int64_t{0}}}));
    const ValueId whole = b.add("Abs", {b.input("y", tensor_type(DType::kF32, Shape{2 * columns}))});
    const std::vector<ValueId> parts = b.add_many("Split", {whole}, 2, {{"axis", int64_t{0}}});
    for (const ValueId part : parts) b.output(b.add("Exp", {part}));
    const Graph g = *std::move(b).finish();
    const BufferAssignment buffers(g);
    for (uint32_t i = 0; i < g.nodes().size(); ++i) {
      const std::string& op = g.nodes()[i].op;
      if (op == "Concat" || op == "Split") {
        EXPECT_EQ(buffers.elided(NodeId{i}), columns == 4) << op;
      }
    }
  }
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

TEST(BufferAssignment, AFenceIsAnotherNameAndWhatItWaitsForIsRead) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", tensor_type(DType::kF32, Shape{4}));
  const ValueId a = b.add("Relu", {x});
  const ValueId loss = b.add("Neg", {x});
  b.output(b.add("Abs", {b.add("hone.Recompute", {a, loss})}));
  const Graph g = *std::move(b).finish();
  const BufferAssignment buffers(g);
  EXPECT_TRUE(buffers.elided(NodeId{2}));
  EXPECT_EQ(buffers.place(g.nodes()[2].outputs[0]).root, g.nodes()[0].outputs[0]);
  EXPECT_EQ(buffers.last_use(g.nodes()[1].outputs[0]), 2U);
}

// --- state ---

Graph parsed(const std::string& text) {
  auto graph = parse("graph \"g\" " + text);
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  return *std::move(graph);
}

TEST(BufferAssignment, AStateIsOverwrittenByItsLastReaderWhereThatComputesItsNextValue) {
  const Graph g = parsed("(%s: f32[4], %x: f32[4]) { %n: f32[4] = Add(%s, %x) return %n -> %s }");
  BufferAssignment buffers(g);
  EXPECT_FALSE(buffers.next_in_place(g.states()[0]));
  EXPECT_TRUE(buffers.overwritten_at_end(g.inputs()[0]));
  EXPECT_FALSE(buffers.try_in_place(NodeId{0}, 1)) << "%x is the caller's";
  EXPECT_TRUE(buffers.try_in_place(NodeId{0}, 0));
  EXPECT_TRUE(buffers.next_in_place(g.states()[0]));
  EXPECT_FALSE(buffers.overwritten_at_end(g.inputs()[0]));
  EXPECT_EQ(buffers.last_use(g.inputs()[0]), 1U) << "it lives through the step";
}

TEST(BufferAssignment, AStateIsOverwrittenByNothingElse) {
  const Graph g = parsed(R"((%s: f32[4]) {
    %t: f32[4] = Relu(%s)
    %n: f32[4] = Neg(%t)
    return %n -> %s
  })");
  BufferAssignment buffers(g);
  EXPECT_FALSE(buffers.try_in_place(NodeId{0}, 0));
  EXPECT_TRUE(buffers.try_next_in_place(g.states()[0])) << "behind its last reader";
  EXPECT_EQ(buffers.place(g.outputs()[0]).root, g.inputs()[0]);
}

TEST(BufferAssignment, AStateThatIsStillReadIsNotOverwritten) {
  const Graph g = parsed(R"((%s: f32[4]) {
    %n: f32[4] = Relu(%s)
    %y: f32[4] = Add(%n, %s)
    return %n -> %s, %y
  })");
  BufferAssignment buffers(g);
  EXPECT_FALSE(buffers.try_next_in_place(g.states()[0])) << "its producer reads it";
  EXPECT_FALSE(buffers.try_in_place(NodeId{0}, 0)) << "a later node reads it";
  EXPECT_TRUE(buffers.overwritten_at_end(g.inputs()[0]));
}

TEST(BufferAssignment, AStateWhoseOldValueIsGivenOutIsNotOverwritten) {
  // %v is a view of the state; %a and %b change places.
  const Graph g = parsed(R"((%s: f32[4], %a: f32[4], %b: f32[4], %i: f32[4]) {
    %shape: i64[2] = constant dense(2, 2)
    %v: f32[2,2] = Reshape(%s, %shape)
    %n: f32[4] = Relu(%s)
    return %v, %n -> %s, %b -> %a, %a -> %b, %i -> %i
  })");
  BufferAssignment buffers(g);
  EXPECT_FALSE(buffers.try_in_place(NodeId{1}, 0));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(buffers.try_next_in_place(g.states()[i])) << i;
    EXPECT_TRUE(buffers.overwritten_at_end(g.state_input(g.states()[i]))) << i;
  }
  EXPECT_EQ(buffers.last_read(g.inputs()[0]), 2U) << "the caller reads it";
  EXPECT_TRUE(buffers.try_next_in_place(g.states()[3])) << "it never changes";
}

TEST(BufferAssignment, ANextValueUnderAViewTakesTheStatesPlaceAndAPartOfABufferDoesNot) {
  const Graph g = parsed(R"((%s: f32[2,4], %p: f32[4], %x: f32[8], %unread: f32[8]) {
    %n: f32[8] = Relu(%x)
    %shape: i64[2] = constant dense(2, 4)
    %v: f32[2,4] = Reshape(%n, %shape)
    %m: f32[8] = Neg(%x)
    %first: f32[4], %second: f32[4] = Split(%m) {num_outputs = 2}
    %u: f32[8] = Abs(%x)
    return %v -> %s, %first -> %p, %second, %u -> %unread
  })");
  BufferAssignment buffers(g);
  EXPECT_TRUE(buffers.try_next_in_place(g.states()[0]));
  EXPECT_EQ(buffers.place(g.nodes()[0].outputs[0]).root, g.inputs()[0]);
  EXPECT_FALSE(buffers.try_next_in_place(g.states()[1])) << "%second lies there, too";
  EXPECT_TRUE(buffers.try_next_in_place(g.states()[2])) << "nobody reads the old value";
}

}  // namespace
}  // namespace hone::graph
