#include "passes/recognise_activations.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

TEST(RecogniseActivations, GeluAsTorchExportsIt) {
  check_rewrite(recognise_activations, R"((%x: f32[2,8]) {
    %r: f32[] = constant dense(1.4142135381698608)
    %one: f32[] = constant dense(1.0)
    %half: f32[] = constant dense(0.5)
    %a: f32[*] = Div(%x, %r)
    %b: f32[*] = Erf(%a)
    %c: f32[*] = Add(%b, %one)
    %d: f32[*] = Mul(%x, %c)
    %y: f32[*] = Mul(%d, %half)
    return %y
  })",
                R"((%x: f32[2,8]) { %y: f32[*] = Gelu(%x) return %y })");
}

TEST(RecogniseActivations, SwishAndHardSwish) {
  check_rewrite(recognise_activations, R"((%x: f32[2,8]) {
    %s: f32[*] = Sigmoid(%x)
    %y: f32[*] = Mul(%x, %s)
    return %y
  })",
                R"((%x: f32[2,8]) { %y: f32[*] = Swish(%x) return %y })");
  check_rewrite(recognise_activations, R"((%x: f32[2,8]) {
    %s: f32[*] = HardSigmoid(%x) {alpha = 0.16666667}
    %y: f32[*] = Mul(%x, %s)
    return %y
  })",
                R"((%x: f32[2,8]) { %y: f32[*] = HardSwish(%x) return %y })");
}

TEST(RecogniseActivations, AnotherConstantIsAnotherFunction) {
  check_left_alone(recognise_activations, R"((%x: f32[2,8]) {
    %s: f32[*] = HardSigmoid(%x) {alpha = 0.2}
    %y: f32[*] = Mul(%x, %s)
    return %y
  })");
}

// Neither recursion as deep as the chain nor work that grows with its square.
TEST(RecogniseActivations, LongChainsOfProductsAreNoTrouble) {
  graph::GraphBuilder b("chain");
  const auto x = b.input("x", graph::tensor_type(DType::kF32, Shape{2}));
  graph::ValueId value = x;
  for (int i = 0; i < 100'000; ++i) value = b.add("Mul", {value, x});
  b.output(value);
  const PassOutcome outcome = run_pass(recognise_activations, *std::move(b).finish());
  EXPECT_EQ(outcome.graph.nodes().size(), 100'000U);
}

}  // namespace
}  // namespace hone::passes
