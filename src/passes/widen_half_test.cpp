#include "passes/widen_half.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

TEST(WidenHalf, ConvertsAtTheBordersAndConstantsOnce) {
  check_rewrite(widen_half, R"((%x: f16[2,4]) {
    %w: f16[4,1] = constant hex"003c00400042003c"
    %m: f16[*] = MatMul(%x, %w)
    %y: f16[*] = Relu(%m)
    return %y
  })",
                R"((%x: f16[2,4]) {
    %w: f32[4,1] = constant dense(1.0, 2.0, 3.0, 1.0)
    %c: f32[*] = Cast(%x) {to = 1}
    %m: f32[*] = MatMul(%c, %w)
    %r: f32[*] = Relu(%m)
    %y: f16[*] = Cast(%r) {to = 10}
    return %y
  })");
}

TEST(WidenHalf, KeepsTheNamesOfTheModel) {
  const PassOutcome outcome = run_pass(widen_half, graph_of(R"((%x: bf16[4]) {
    %y: bf16[*] = Tanh(%x)
    return %y
  })"));
  EXPECT_EQ(outcome.graph.value(outcome.graph.inputs()[0]).name, "x");
  EXPECT_EQ(outcome.graph.value(outcome.graph.outputs()[0]).name, "y");
  EXPECT_EQ(outcome.graph.type(outcome.graph.outputs()[0]).text(), "bf16[4]");
}

TEST(WidenHalf, DropsCastsThatChangeNothingAnyMore) {
  check_rewrite(widen_half, R"((%x: f32[4]) {
    %h: f16[*] = Cast(%x) {to = 10}
    %t: f16[*] = Tanh(%h)
    %f: f32[*] = Cast(%t) {to = 1}
    %y: f32[*] = Exp(%f)
    return %y
  })",
                R"((%x: f32[4]) {
    %t: f32[*] = Tanh(%x)
    %y: f32[*] = Exp(%t)
    return %y
  })");
}

TEST(WidenHalf, ACastThatIsTheModelsOutputKeepsItsName) {
  const PassOutcome outcome = run_pass(widen_half, graph_of(R"((%x: f32[4]) {
    %y: f16[*] = Cast(%x) {to = 10}
    return %y
  })"));
  EXPECT_EQ(outcome.graph.value(outcome.graph.inputs()[0]).name, "x");
  EXPECT_EQ(outcome.graph.value(outcome.graph.outputs()[0]).name, "y");
  EXPECT_EQ(outcome.graph.type(outcome.graph.outputs()[0]).text(), "f16[4]");
}

TEST(WidenHalf, AnOutputGivenOutTwiceKeepsItsNameToo) {
  const PassOutcome outcome = run_pass(widen_half, graph_of(R"((%x: f16[4]) {
    %y: f16[*] = Tanh(%x)
    return %y, %y
  })"));
  EXPECT_EQ(outcome.graph.value(outcome.graph.outputs()[0]).name, "y");
}

TEST(WidenHalf, RenamesTypesInAttributes) {
  graph::GraphBuilder b("attributes");
  const auto x = b.input("x", graph::tensor_type(DType::kF16, Shape{2}));
  const auto shape = b.input("shape", graph::tensor_type(DType::kI64, Shape{1}));
  Tensor two(DType::kF16, {1});
  two.as<uint16_t>()[0] = f32_to_f16(2);
  const auto made = b.add("ConstantOfShape", {shape}, {{"value", two}});
  const auto random = b.add("RandomNormal", {}, {{"shape", Ints{2}}, {"dtype", int64_t{10}}});
  b.output(b.add("Add", {b.add("Add", {x, made}), random}));
  const PassOutcome outcome = run_pass(widen_half, *std::move(b).finish());
  for (const graph::Node& node : outcome.graph.nodes())
    EXPECT_TRUE(node.op == "Cast" || outcome.graph.type(node.outputs[0]).dtype == DType::kF32) << node.op;
}

TEST(WidenHalf, LeavesWhatTheTargetMultiplies) {
  PassContext context = willing_target();
  context.target.takes.products = {DType::kF32, DType::kF16};
  check_left_alone(widen_half, "(%x: f16[4]) { %y: f16[*] = Relu(%x) return %y }", "", context);
}

TEST(WidenHalf, LeavesProductsThatTheTargetConvertsFor) {
  PassContext context = willing_target();
  context.target.takes.converted_products = {DType::kBF16};
  context.target.runs = [](const graph::Graph&, const graph::Node& node) { return node.op == "MatMul"; };
  check_rewrite(widen_half, R"((%x: f32[2,2]) {
    %w: bf16[2,1] = constant hex"803f0040"
    %c: bf16[*] = Cast(%x) {to = 16}
    %m: bf16[*] = MatMul(%c, %w)
    %r: bf16[*] = Relu(%m)
    %y: f32[*] = Cast(%r) {to = 1}
    return %y
  })",
                R"((%x: f32[2,2]) {
    %w: bf16[2,1] = constant hex"803f0040"
    %c: bf16[*] = Cast(%x) {to = 16}
    %m: bf16[*] = MatMul(%c, %w)
    %f: f32[*] = Cast(%m) {to = 1}
    %r: f32[*] = Relu(%f)
    %y: f32[*] = Cast(%r) {to = 1}
    return %y
  })",
                context);
}

TEST(WidenHalf, LeavesATargetThatWasNotAsked) {
  check_left_alone(widen_half, "(%x: f16[4]) { %y: f16[*] = Relu(%x) return %y }", "", PassContext{});
}

}  // namespace
}  // namespace hone::passes
