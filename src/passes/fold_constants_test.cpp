#include "passes/fold_constants.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

// Sums of f32 constants, which is all that these tests compute ahead.
PassContext adding() {
  PassContext context;
  context.evaluate = [](const graph::Node& node,
                        std::span<const Tensor> inputs) -> Result<std::vector<Tensor>> {
    if (node.op != "Add") return unsupported("unsupported: " + node.op);
    Tensor sum(DType::kF32, inputs[0].shape());
    for (int64_t i = 0; i < sum.size(); ++i)
      sum.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(inputs[0].at(i) + inputs[1].at(i));
    return std::vector{sum};
  };
  return context;
}

TEST(FoldConstants, AChainOfKnownValuesBecomesOne) {
  check_rewrite(fold_constants, R"((%x: f32[2]) {
    %a: f32[2] = constant dense(1.0, 2.0)
    %b: f32[2] = constant dense(3.0, 4.0)
    %c: f32[*] = Add(%a, %b)
    %d: f32[*] = Add(%c, %a)
    %y: f32[*] = Mul(%x, %d)
    return %y
  })",
                R"((%x: f32[2]) {
    %d: f32[2] = constant dense(5.0, 8.0)
    %y: f32[*] = Mul(%x, %d)
    return %y
  })",
                adding());
}

TEST(FoldConstants, AShapeThatIsKnownIsANumber) {
  check_rewrite(fold_constants, R"((%x: f32[2,3], %z: f32[6]) {
    %s: i64[*] = Shape(%x)
    %y: f32[*] = Reshape(%z, %s)
    return %y
  })",
                R"((%x: f32[2,3], %z: f32[6]) {
    %s: i64[2] = constant dense(2, 3)
    %y: f32[2,3] = Reshape(%z, %s)
    return %y
  })",
                adding());
}

TEST(FoldConstants, AShapeThatIsNotKnownStays) {
  check_left_alone(fold_constants, "(%x: f32[n,3]) { %y: i64[*] = Shape(%x) return %y }", "", adding());
}

TEST(FoldConstants, RandomNumbersAreDrawnInEveryStep) {
  check_left_alone(
      fold_constants,
      "(%x: f32[2]) { %r: f32[*] = RandomNormal() {shape = [2]} %y: f32[*] = Add(%x, %r) return %y }", "",
      adding());
}

TEST(FoldConstants, SaysWhatCouldNotBeComputed) {
  check_left_alone(fold_constants, R"((%x: f32[2]) {
    %a: f32[2] = constant dense(1.0, 2.0)
    %b: f32[*] = Exp(%a)
    %y: f32[*] = Mul(%x, %b)
    return %y
  })",
                   "not folded: unsupported: Exp", adding());
}

TEST(FoldConstants, WithoutAnEvaluatorNothingIsComputed) {
  check_left_alone(fold_constants, R"((%x: f32[2]) {
    %a: f32[2] = constant dense(1.0, 2.0)
    %b: f32[*] = Add(%a, %a)
    %y: f32[*] = Mul(%x, %b)
    return %y
  })",
                   "", PassContext{});
}

// Numbers that are drawn in a body are no more known than those drawn outside.
TEST(FoldConstants, RandomNumbersOfABodyAreDrawnInEveryStep) {
  PassContext context;
  context.evaluate = [](const graph::Node& node, std::span<const Tensor>) -> Result<std::vector<Tensor>> {
    ADD_FAILURE() << node.op << " was computed ahead";
    return unsupported("unsupported");
  };
  check_left_alone(fold_constants, R"((%x: f32[2]) {
    %yes: bool[] = constant dense(1)
    %r: f32[2] = If(%yes) "if"
      graph "drawn" () { %n: f32[2] = RandomNormal() {shape = [2]} return %n }
      graph "other" () { %n: f32[2] = constant dense(0.0, 0.0) return %n }
    %y: f32[*] = Add(%x, %r)
    return %y
  })",
                   "", context);
}

}  // namespace
}  // namespace hone::passes
