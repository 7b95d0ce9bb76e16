#include "passes/recognise_normalization.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

constexpr const char* kConstants = R"(
    %axis: i64[1] = constant dense(-1)
    %two: f32[] = constant dense(2.0)
    %eps: f32[] = constant dense(1e-05)
    %s: f32[4] = constant dense(1.0, 2.0, 3.0, 4.0)
    %b: f32[4] = constant dense(0.0, 1.0, 2.0, 3.0)
)";

TEST(RecogniseNormalization, LayerNormAsTorchScriptExportsIt) {
  check_rewrite(recognise_normalization, std::string("(%x: f32[2,3,4]) {") + kConstants + R"(
    %mean: f32[*] = ReduceMean(%x, %axis)
    %d: f32[*] = Sub(%x, %mean)
    %sq: f32[*] = Pow(%d, %two)
    %var: f32[*] = ReduceMean(%sq, %axis)
    %ve: f32[*] = Add(%var, %eps)
    %root: f32[*] = Sqrt(%ve)
    %n: f32[*] = Div(%d, %root)
    %sc: f32[*] = Mul(%n, %s)
    %y: f32[*] = Add(%sc, %b)
    return %y
  })",
                std::string("(%x: f32[2,3,4]) {") + kConstants + R"(
    %y: f32[*] = LayerNormalization(%x, %s, %b) {axis = -1, epsilon = 1e-05}
    return %y
  })");
}

TEST(RecogniseNormalization, WithoutScaleAndBiasTheScaleIsOne) {
  check_rewrite(recognise_normalization, std::string("(%x: f32[3,4]) {") + kConstants + R"(
    %mean: f32[*] = ReduceMean(%x, %axis)
    %d: f32[*] = Sub(%x, %mean)
    %sq: f32[*] = Mul(%d, %d)
    %var: f32[*] = ReduceMean(%sq, %axis)
    %ve: f32[*] = Add(%eps, %var)
    %root: f32[*] = Sqrt(%ve)
    %r: f32[*] = Reciprocal(%root)
    %y: f32[*] = Mul(%d, %r)
    return %y
  })",
                R"((%x: f32[3,4]) {
    %one: f32[4] = constant dense(1.0, 1.0, 1.0, 1.0)
    %y: f32[*] = LayerNormalization(%x, %one) {axis = -1, epsilon = 1e-05}
    return %y
  })");
}

TEST(RecogniseNormalization, RmsNormWithTheScaleInFront) {
  check_rewrite(recognise_normalization, std::string("(%x: f32[2,3,4]) {") + kConstants + R"(
    %sq: f32[*] = Pow(%x, %two)
    %var: f32[*] = ReduceMean(%sq, %axis)
    %ve: f32[*] = Add(%var, %eps)
    %root: f32[*] = Sqrt(%ve)
    %one: f32[] = constant dense(1.0)
    %r: f32[*] = Div(%one, %root)
    %n: f32[*] = Mul(%x, %r)
    %y: f32[*] = Mul(%s, %n)
    return %y
  })",
                std::string("(%x: f32[2,3,4]) {") + kConstants + R"(
    %y: f32[*] = RMSNormalization(%x, %s) {axis = -1, epsilon = 1e-05}
    return %y
  })");
}

TEST(RecogniseNormalization, OverAnotherAxisItIsNoLayerNorm) {
  check_left_alone(recognise_normalization, R"((%x: f32[2,3,4]) {
    %axis: i64[1] = constant dense(1)
    %eps: f32[] = constant dense(1e-05)
    %mean: f32[*] = ReduceMean(%x, %axis)
    %d: f32[*] = Sub(%x, %mean)
    %sq: f32[*] = Mul(%d, %d)
    %var: f32[*] = ReduceMean(%sq, %axis)
    %ve: f32[*] = Add(%var, %eps)
    %root: f32[*] = Sqrt(%ve)
    %y: f32[*] = Div(%d, %root)
    return %y
  })");
}

}  // namespace
}  // namespace hone::passes
