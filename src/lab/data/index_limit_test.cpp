#include "lab/data/index_limit.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "lab/prepared.h"

namespace hone::lab {
namespace {

constexpr const char* kIndexed =
    R"(graph "g" (%ids: i64[2,3], %where: i32[2,3], %image: i64[4], %free: i64[2], %x: f32[2,4,6,6],
    %table: f32[7,4], %cos: f32[5,2], %rois: f32[4,4]) {
  %rows: f32[2,3,4] = Gather(%table, %ids)
  %wide: i64[2,3] = Cast(%where) {to = 7}
  %turned: f32[2,3,4] = RotaryEmbedding(%rows, %cos, %cos, %wide) {num_heads = 1}
  %regions: f32[4,4,1,1] = RoiAlign(%x, %rois, %image)
  %sum: i64[2] = Add(%free, %free)
  return %turned, %regions, %sum
})";

TEST(IndexLimit, IsThatOfWhatIsIndexed) {
  const auto graph = graph::parse(kIndexed);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto limit = [&](std::size_t input) { return index_limit_of(*graph, graph->inputs()[input]); };
  EXPECT_EQ(limit(0), 7);
  EXPECT_EQ(limit(1), 5) << "behind a Cast";
  EXPECT_EQ(limit(2), 2);
  EXPECT_EQ(limit(3), std::nullopt);
}

TEST(IndexLimit, KeepsMadeUpIndicesWithinIt) {
  const auto graph = graph::parse(kIndexed);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto inputs = make_inputs(*graph, 1, {});
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  for (const auto& [input, limit] : {std::pair(0U, 7), std::pair(1U, 5), std::pair(2U, 2)})
    for (const int64_t index : inputs->tensors[input].to_ints()) {
      EXPECT_GE(index, 0) << input;
      EXPECT_LT(index, limit) << input;
    }
}

}  // namespace
}  // namespace hone::lab
