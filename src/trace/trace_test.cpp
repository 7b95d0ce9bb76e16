#include "trace/trace.h"

#include <gtest/gtest.h>

namespace hone::trace {
namespace {

TEST(StringTable, GivesOneIdToOneTextAndSurvivesCopies) {
  StringTable table;
  StringId a = table.intern("a");
  for (int i = 0; i < 1000; ++i) table.intern("filler " + std::to_string(i));
  EXPECT_EQ(table.intern("a"), a);
  EXPECT_FALSE(table.find("never").valid());
  StringTable copy = table;
  table = StringTable();
  EXPECT_EQ(copy.find("a"), a);
  EXPECT_EQ(copy.text(a), "a");
  EXPECT_EQ(copy.text({}), "");
}

TEST(Names, RoundTripForEveryCategoryAndClass) {
  for (int i = 0; i < kCategoryCount; ++i)
    EXPECT_EQ(category_from_name(category_name(static_cast<Category>(i))), static_cast<Category>(i));
  for (int i = 0; i < kOperatorClassCount; ++i)
    EXPECT_EQ(operator_class_from_name(operator_class_name(static_cast<OperatorClass>(i))),
              static_cast<OperatorClass>(i));
  EXPECT_FALSE(category_from_name("nonsense").has_value());
}

TEST(Trace, NamesTheFirstRowThatBreaksARule) {
  Trace trace;
  TrackId track = trace.add_track({});
  trace.spans.add({10, 5, track, {}, Category::kOperator, 0, {}, 0});
  EXPECT_TRUE(trace.validate().ok());
  trace.spans.add({10, -5, track, {}, Category::kOperator, 0, {}, 0});
  ASSERT_FALSE(trace.validate().ok());
  EXPECT_NE(trace.validate().error().message.find("span 1"), std::string::npos);
  trace.spans.duration_ns[1] = 5;
  trace.spans.op[1] = {7};
  EXPECT_FALSE(trace.validate().ok());
}

}  // namespace
}  // namespace hone::trace
