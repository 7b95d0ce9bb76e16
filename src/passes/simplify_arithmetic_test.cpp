#include "passes/simplify_arithmetic.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

TEST(SimplifyArithmetic, NeutralElementsVanish) {
  check_rewrite(simplify_arithmetic, R"((%x: f32[2,3]) {
    %zero: f32[] = constant dense(0.0)
    %ones: f32[3] = constant dense(1.0, 1.0, 1.0)
    %a: f32[*] = Add(%zero, %x)
    %b: f32[*] = Sub(%a, %zero)
    %c: f32[*] = Mul(%b, %ones)
    %d: f32[*] = Div(%c, %ones)
    %y: f32[*] = Relu(%d)
    return %y
  })",
                "(%x: f32[2,3]) { %y: f32[*] = Relu(%x) return %y }");
}

TEST(SimplifyArithmetic, ANeutralElementThatBroadcastsStays) {
  check_left_alone(simplify_arithmetic, R"((%x: f32[3]) {
    %zeros: f32[2,3] = constant dense(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    %y: f32[*] = Add(%x, %zeros)
    return %y
  })");
}

TEST(SimplifyArithmetic, PowersBecomeProductsAndRoots) {
  check_rewrite(simplify_arithmetic, R"((%x: f32[2]) {
    %two: f32[] = constant dense(2.0)
    %half: f32[] = constant dense(0.5)
    %a: f32[*] = Pow(%x, %two)
    %y: f32[*] = Pow(%a, %half)
    return %y
  })",
                "(%x: f32[2]) { %a: f32[*] = Mul(%x, %x) %y: f32[*] = Sqrt(%a) return %y }");
}

TEST(SimplifyArithmetic, ConstantsOfAChainBecomeOne) {
  check_rewrite(simplify_arithmetic, R"((%x: f32[2]) {
    %eight: f32[] = constant dense(8.0)
    %c: f32[2] = constant dense(2.0, 4.0)
    %a: f32[*] = Div(%x, %eight)
    %y: f32[*] = Mul(%c, %a)
    return %y
  })",
                R"((%x: f32[2]) {
    %c: f32[2] = constant dense(0.25, 0.5)
    %y: f32[*] = Mul(%x, %c)
    return %y
  })");
}

TEST(SimplifyArithmetic, ADivisionByZeroStays) {
  check_left_alone(simplify_arithmetic, R"((%x: f32[2]) {
    %c: f32[2] = constant dense(2.0, 0.0)
    %y: f32[*] = Div(%x, %c)
    return %y
  })");
}

TEST(SimplifyArithmetic, BoundsOfBoundsBecomeOne) {
  check_rewrite(simplify_arithmetic, R"((%x: f32[2]) {
    %low: f32[] = constant dense(-1.0)
    %six: f32[] = constant dense(6.0)
    %a: f32[*] = Relu(%x)
    %b: f32[*] = Relu(%a)
    %y: f32[*] = Clip(%b, %low, %six)
    return %y
  })",
                R"((%x: f32[2]) {
    %zero: f32[] = constant dense(0.0)
    %six: f32[] = constant dense(6.0)
    %y: f32[*] = Clip(%x, %zero, %six)
    return %y
  })");
}

TEST(SimplifyArithmetic, AnExpandGoesWhereTheReaderBroadcasts) {
  check_rewrite(simplify_arithmetic, R"((%x: f32[4,3], %b: f32[1,3]) {
    %shape: i64[2] = constant dense(4, 3)
    %e: f32[*] = Expand(%b, %shape)
    %y: f32[*] = Mul(%x, %e)
    return %y
  })",
                "(%x: f32[4,3], %b: f32[1,3]) { %y: f32[*] = Mul(%x, %b) return %y }");
  check_left_alone(simplify_arithmetic, R"((%x: f32[1,3], %b: f32[1,3]) {
    %shape: i64[2] = constant dense(4, 3)
    %e: f32[*] = Expand(%b, %shape)
    %y: f32[*] = Mul(%x, %e)
    return %y
  })");
}

}  // namespace
}  // namespace hone::passes
