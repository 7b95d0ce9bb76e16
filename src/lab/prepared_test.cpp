#include "lab/prepared.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "lab/gate/numeric.h"

namespace hone::lab {
namespace {

TEST(HigherPrecision, GoesIntoBodies) {
  const auto graph = graph::parse(R"(graph "g" (%n: i64[], %go: bool[], %x: f32[2]) {
    %y: f32[2] = Loop(%n, %go, %x) "loop"
      graph "body" (%i: i64[], %c: bool[], %v: f32[2]) {
        %h: f16[2] = Cast(%v) {to = 10}
        %t: f16[2] = Tanh(%h)
        %w: f32[2] = Cast(%t) {to = 1}
        return %c, %w
      }
    return %y
  })");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(coarsest_arithmetic(*graph), DType::kF16);
  const auto precise = in_higher_precision(*graph);
  ASSERT_TRUE(precise.ok()) << precise.error().message;
  EXPECT_EQ(coarsest_arithmetic(*precise), DType::kF32) << graph::print(*precise);
}

}  // namespace
}  // namespace hone::lab
