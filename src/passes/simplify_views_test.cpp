#include "passes/simplify_views.h"

#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

TEST(SimplifyViews, TransposesThatCancelVanish) {
  check_rewrite(simplify_views, R"((%x: f32[2,3,4]) {
    %a: f32[*] = Transpose(%x) {perm = [1,2,0]}
    %b: f32[*] = Transpose(%a) {perm = [2,0,1]}
    %y: f32[*] = Relu(%b)
    return %y
  })",
                R"((%x: f32[2,3,4]) { %y: f32[*] = Relu(%x) return %y })");
}

TEST(SimplifyViews, TransposesOfTransposesAreOne) {
  check_rewrite(simplify_views, R"((%x: f32[2,3,4,5]) {
    %a: f32[*] = Transpose(%x) {perm = [0,2,1,3]}
    %y: f32[*] = Transpose(%a) {perm = [0,1,3,2]}
    return %y
  })",
                R"((%x: f32[2,3,4,5]) { %y: f32[*] = Transpose(%x) {perm = [0,2,3,1]} return %y })");
}

TEST(SimplifyViews, OperatorsThatChangeNothingVanish) {
  check_rewrite(simplify_views, R"((%x: f32[2,3]) {
    %a: f32[*] = Identity(%x)
    %b: f32[*] = Dropout(%a)
    %c: f32[*] = Cast(%b) {to = 1}
    %d: f32[*] = Concat(%c) {axis = 0}
    %y: f32[*] = Relu(%d)
    return %y
  })",
                R"((%x: f32[2,3]) { %y: f32[*] = Relu(%x) return %y })");
}

TEST(SimplifyViews, ASliceBackwardsStays) {
  check_left_alone(simplify_views, R"((%x: f32[3]) {
    %start: i64[1] = constant dense(2)
    %end: i64[1] = constant dense(-4)
    %axis: i64[1] = constant dense(0)
    %step: i64[1] = constant dense(-1)
    %y: f32[*] = Slice(%x, %start, %end, %axis, %step)
    return %y
  })");
}

}  // namespace
}  // namespace hone::passes
