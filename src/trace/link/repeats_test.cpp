#include "trace/link/repeats.h"

#include <gtest/gtest.h>

#include "trace/link/fabricate.h"
#include "trace/link/link.h"

namespace hone::trace::link {
namespace {

constexpr const char* kRowRepeated = "f32[64,2048] f32[64,2048]{0,1} =False";

// The operator of copy_ with these inputs, called by `around`, or by the program itself.
Operator copied(std::string_view around, std::string_view inputs) {
  fabricate::Program program;
  program.span(program.main, Category::kRegion, "ProfilerStep#0", 0, 100);
  if (!around.empty()) program.op(program.main, around, 5, 50);
  const uint32_t copy = program.op(program.main, "aten::copy_", 10, 20, inputs);
  EXPECT_TRUE(link_trace(program.trace).ok());
  return program.op_of(copy);
}

TEST(Repeats, ReadWhatIsStoredAndNeedNotBeWritten) {
  for (const char* around : {"aten::clone", "aten::repeat"}) {
    const Operator op = copied(around, kRowRepeated);
    EXPECT_EQ(op.op_class, OperatorClass::kMovement);
    EXPECT_EQ(op.bytes_read, 4.0 * 2048);
    EXPECT_EQ(op.bytes_written, 4.0 * 64 * 2048);
    EXPECT_EQ(op.avoidable_bytes, op.bytes()) << around;
    EXPECT_EQ(op.name, "copy_ 64×2048 f32, each element 64 times");
  }
}

TEST(Repeats, AreFoundByShapesWhereStridesAreNotRecorded) {
  const Operator op = copied("aten::repeat", "f32[64,2048] f32[2048] =False");
  EXPECT_EQ(op.bytes_read, 4.0 * 2048);
  EXPECT_EQ(op.avoidable_bytes, op.bytes());
}

// addmm begins with a copy of its bias in each row; only a call of the program itself is there to fill.
TEST(Repeats, ArePartsOfTheOperatorThatNeedsThem) {
  for (const char* around : {"aten::addmm", "aten::baddbmm", ""}) {
    const Operator op = copied(around, kRowRepeated);
    EXPECT_EQ(op.op_class, OperatorClass::kMovement) << around;
    EXPECT_EQ(op.avoidable_bytes, 0) << around;
  }
}

TEST(Repeats, AreNeitherCopiesInAnotherOrderNorConversionsNorParts) {
  for (const char* inputs :
       {"f32[64,2048] f32[64,2048]{1,64} =False", "bf16[64,2048] f32[64,2048]{0,1} =False",
        "f32[64,2048]{4096,1} f32[64,2048]{0,1} =False", "f32[64,2048] f32[64,2048] =False",
        "f32[0,2048] f32[0,2048]{0,1} =False", "f32[64,2048]"})
    EXPECT_EQ(copied("aten::clone", inputs).avoidable_bytes, 0) << inputs;
}

}  // namespace
}  // namespace hone::trace::link
