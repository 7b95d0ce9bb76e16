// Programs whose operators are called with other sizes each time.
#include "analyze/device/varying_shapes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/device/busy/divide_busy.h"
#include "analyze/device/operators.h"
#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;

VaryingShapes shapes_of(const Works& works) {
  return varying_shapes(works.trace(), works.timeline(), works.split().uses);
}

uint32_t call(Works& works, const std::string& inputs, const std::string& geometry,
              const std::string& kind = "aten::mul") {
  const uint32_t work = works.run({.kind = kind, .inputs = inputs});
  works.trace().operators.back().geometry = geometry;
  return work;
}

TEST(RangeOfSizes, IsOfNumbersThatDiffer) {
  EXPECT_EQ(range_of_sizes({"8637×4 f32", "8647×4 f32", "8640×4 f32"}), "8637–8647×4 f32");
  EXPECT_EQ(range_of_sizes({"attention, 1 queries, 17 keys", "attention, 1 queries, 18 keys"}),
            "attention, 1 queries, 17–18 keys");
  EXPECT_EQ(range_of_sizes({"7×4 f32", "9×4 f16"}), "7×4 f32 and 1 more") << "other words";
  EXPECT_EQ(range_of_sizes({"7×4 f32"}), "7×4 f32");
}

TEST(VaryingShapes, AreOneRowWhereStepsHaveOthers) {
  Works works;
  for (const char* boxes : {"8637", "8647", "8640"}) {
    call(works, fmt::format("f32[{},4]", boxes), fmt::format("{}×4 f32", boxes));
    call(works, "f32[64,64]", "64×64 f32");
    works.end_step();
  }
  const VaryingShapes shapes = shapes_of(works);
  EXPECT_EQ(shapes.geometry[0], "8637–8647×4 f32");
  EXPECT_EQ(shapes.geometry[2], "8637–8647×4 f32");
  EXPECT_EQ(shapes.geometry[1], "64×64 f32");
  EXPECT_DOUBLE_EQ(shapes.share, 0.5);
  EXPECT_FALSE(shapes.cache_grows);
}

TEST(VaryingShapes, StayApartByWhatDoesNotVary) {
  Works works;
  for (const char* rows : {"301", "512", "77"})
    for (const char* width : {"64", "128"}) {
      call(works, fmt::format("f32[{},{}]", rows, width), fmt::format("{}×{} f32", rows, width));
      if (std::string_view(width) == "128") works.end_step();
    }
  const VaryingShapes shapes = shapes_of(works);
  EXPECT_EQ(shapes.geometry[0], "77–512×64 f32");
  EXPECT_EQ(shapes.geometry[1], "77–512×128 f32");
}

TEST(VaryingShapes, AreNotTheLayersOfANetwork) {
  Works works;
  for (int step = 0; step < 3; ++step) {
    for (const char* width : {"64", "128", "256", "320", "384"})
      call(works, fmt::format("f32[32,{}]", width), fmt::format("32×{} f32", width));
    works.end_step();
  }
  const VaryingShapes shapes = shapes_of(works);
  EXPECT_EQ(shapes.geometry[0], "32×64 f32");
  EXPECT_EQ(shapes.share, 0);
}

TEST(VaryingShapes, AreNotWhatOnlySomeStepsDo) {
  Works works;
  call(works, "f32[5,4]", "5×4 f32");
  call(works, "f32[6,4]", "6×4 f32");
  works.end_step();
  call(works, "f32[64,64]", "64×64 f32", "aten::add");
  works.end_step();
  EXPECT_EQ(shapes_of(works).geometry[0], "5×4 f32");
}

TEST(VaryingShapes, GrowTokenByToken) {
  Works works;
  for (int step = 0; step < 2; ++step) {
    for (int length = 17; length < 21; ++length) {
      call(works, fmt::format("(f16[1,12,{},64] f16[1,12,1,64]) =-2", length),
           fmt::format("1×12×{}×64 f16", length), "aten::cat");
      call(works, fmt::format("f16[12,1,{}]", length + 1), fmt::format("12×1×{} f16", length + 1));
    }
    works.end_step();
  }
  const VaryingShapes shapes = shapes_of(works);
  EXPECT_TRUE(shapes.cache_grows);
  EXPECT_EQ(shapes.geometry[0], "1×12×17–20×64 f16");
  EXPECT_EQ(shapes.geometry[1], "12×1×18–21 f16");
  EXPECT_EQ(shapes.share, 0) << "every step does the same";
}

TEST(VaryingShapes, AreOneRowOfTheTable) {
  Works works;
  for (const char* boxes : {"8637", "8647", "8640"}) {
    call(works, fmt::format("f32[{},4]", boxes), fmt::format("{}×4 f32", boxes));
    works.end_step();
  }
  const Study study = make_study(works.trace(), gpu_roofs("NVIDIA H200"));
  const OperatorTables tables = make_operator_tables(study, 0, 5);
  ASSERT_EQ(tables.operators.size(), 1U);
  EXPECT_EQ(tables.operators[0].name, "mul 8637–8647×4 f32");
  EXPECT_EQ(tables.operators[0].calls, 1);
}

}  // namespace
}  // namespace hone::analyze::device
