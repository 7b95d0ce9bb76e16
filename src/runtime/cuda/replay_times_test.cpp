#include "runtime/cuda/replay_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::runtime {
namespace {

using ::testing::HasSubstr;
using RecordKind = cuda::DeviceRecord::Kind;
constexpr auto kOperator = ScopeListener::Kind::kOperator;

MarkedNodes operator_of(uint32_t id, std::size_t kernels, std::size_t copies = 0, std::size_t sets = 0) {
  return {.marked = true, .kind = kOperator, .id = id, .kernels = kernels, .copies = copies, .sets = sets};
}

// Records of one graph, 10 ns long each, which begin at these times.
std::vector<cuda::DeviceRecord> records_at(std::initializer_list<std::pair<int64_t, RecordKind>> starts,
                                           uint32_t graph = 3) {
  std::vector<cuda::DeviceRecord> records;
  for (const auto& [start, kind] : starts)
    records.push_back({.kind = kind, .graph = graph, .start_ns = start, .end_ns = start + 10, .kernel = "k"});
  return records;
}

Result<ReplayTimes> times_of(const std::vector<MarkedNodes>& nodes,
                             const std::vector<cuda::DeviceRecord>& records, int replays = 1) {
  const std::vector<std::span<const MarkedNodes>> all(static_cast<std::size_t>(replays), nodes);
  return times_of_replays(all, records);
}

std::string why_not(const std::vector<MarkedNodes>& nodes, const std::vector<cuda::DeviceRecord>& records) {
  const auto times = times_of(nodes, records);
  return times.ok() ? "" : times.error().message;
}

void expect_mark(const MarkTime& mark, uint32_t id, int64_t start_ns, int64_t end_ns) {
  EXPECT_EQ(mark.kind, kOperator);
  EXPECT_EQ(mark.id, id);
  EXPECT_EQ(mark.start_ns, start_ns) << "of mark " << id;
  EXPECT_EQ(mark.end_ns, end_ns) << "of mark " << id;
}

constexpr auto kKernel = RecordKind::kKernel;
constexpr auto kCopy = RecordKind::kCopy;
constexpr auto kSet = RecordKind::kSet;

TEST(ReplayTimes, OfAnOperatorAreFromItsFirstKernelToItsLast) {
  const auto times = times_of({operator_of(0, 1), operator_of(1, 2)},
                              records_at({{100, kKernel}, {120, kKernel}, {140, kKernel}}));
  ASSERT_TRUE(times.ok()) << times.error().message;
  ASSERT_EQ(times->marks.size(), 2U);
  expect_mark(times->marks[0], 0, 100, 110);
  expect_mark(times->marks[1], 1, 120, 150);
  EXPECT_EQ(times->start_ns, 100);
  EXPECT_EQ(times->end_ns, 150);
}

// A copy that the driver made is none of an operator's kernels, nor is what stands between operators.
TEST(ReplayTimes, NameTheKernelsOfEachOperator) {
  MarkedNodes with_copy = operator_of(1, 1);
  with_copy.copies = 1;
  std::vector<cuda::DeviceRecord> records =
      records_at({{100, kKernel}, {120, kCopy}, {140, kKernel}, {160, kKernel}});
  records[0].kernel = "first";
  records[2].kernel = "second";
  records[3].kernel = "between";
  const auto times = times_of({operator_of(0, 1), with_copy, MarkedNodes{.kernels = 1}}, records);
  ASSERT_TRUE(times.ok()) << times.error().message;
  ASSERT_EQ(times->kernels.size(), 2U);
  EXPECT_EQ(times->kernels[0].op, 0U);
  EXPECT_EQ(times->kernels[0].record.kernel, "first");
  EXPECT_EQ(times->kernels[1].op, 1U);
  EXPECT_EQ(times->kernels[1].record.kernel, "second");
}

TEST(ReplayTimes, OfWhatStandsBetweenOperatorsAreTheStepsAlone) {
  const MarkedNodes fault_word{.copies = 1, .sets = 1};
  const auto times =
      times_of({operator_of(0, 1), fault_word}, records_at({{100, kKernel}, {120, kCopy}, {140, kSet}}));
  ASSERT_TRUE(times.ok()) << times.error().message;
  ASSERT_EQ(times->marks.size(), 1U);
  expect_mark(times->marks[0], 0, 100, 110);
  EXPECT_EQ(times->end_ns, 150);
}

// Programmatic launches let a kernel begin before the one before it has ended.
TEST(ReplayTimes, OfKernelsThatOverlapEndWithTheLastToEnd) {
  std::vector<cuda::DeviceRecord> records = records_at({{100, kKernel}, {105, kKernel}, {112, kKernel}});
  records[0].end_ns = 130;
  const auto times = times_of({operator_of(0, 2), operator_of(1, 1)}, records);
  ASSERT_TRUE(times.ok()) << times.error().message;
  expect_mark(times->marks[0], 0, 100, 130);
  expect_mark(times->marks[1], 1, 112, 122);
}

TEST(ReplayTimes, OfAnOperatorWithNothingToRunHaveNoLength) {
  const auto times = times_of({operator_of(0, 1), operator_of(1, 0), operator_of(2, 1)},
                              records_at({{100, kKernel}, {150, kKernel}}));
  ASSERT_TRUE(times.ok()) << times.error().message;
  expect_mark(times->marks[1], 1, 110, 110);
}

TEST(ReplayTimes, OfWhatTheHostComputesAreAsLongAsNothingElseRan) {
  MarkedNodes on_host = operator_of(1, 0);
  on_host.calls_host = true;
  const auto times =
      times_of({operator_of(0, 1), on_host, operator_of(2, 1)}, records_at({{100, kKernel}, {150, kKernel}}));
  ASSERT_TRUE(times.ok()) << times.error().message;
  expect_mark(times->marks[1], 1, 110, 150);
}

TEST(ReplayTimes, OfSeveralReplaysFollowEachOther) {
  const auto times =
      times_of({operator_of(0, 1), operator_of(1, 1)},
               records_at({{100, kKernel}, {120, kKernel}, {200, kKernel}, {220, kKernel}}), 2);
  ASSERT_TRUE(times.ok()) << times.error().message;
  ASSERT_EQ(times->marks.size(), 4U);
  expect_mark(times->marks[2], 0, 200, 210);
  expect_mark(times->marks[3], 1, 220, 230);
}

TEST(ReplayTimes, DoNotMindWorkThatIsOfNoGraph) {
  std::vector<cuda::DeviceRecord> records = records_at({{100, kKernel}, {110, kKernel}, {140, kKernel}});
  records[1].graph = 0;
  const auto times = times_of({operator_of(0, 1), operator_of(1, 1)}, records);
  ASSERT_TRUE(times.ok()) << times.error().message;
  expect_mark(times->marks[1], 1, 140, 150);
}

// The driver makes a kernel of a fill between two kernels.
TEST(ReplayTimes, TakeAKernelForAFill) {
  EXPECT_EQ(why_not({operator_of(0, 1, 0, 1)}, records_at({{100, kKernel}, {120, kKernel}})), "");
}

TEST(ReplayTimes, AreNotGuessedWhereRecordsAreMissingOrTooMany) {
  const std::vector<MarkedNodes> nodes = {operator_of(0, 1), operator_of(1, 1)};
  EXPECT_THAT(why_not(nodes, records_at({{100, kKernel}})),
              HasSubstr("1 records, where there are 2 commands"));
  EXPECT_THAT(why_not(nodes, records_at({{100, kKernel}, {120, kKernel}, {140, kKernel}})),
              HasSubstr("3 records, where there are 2 commands"));
  EXPECT_THAT(why_not(nodes, {}), HasSubstr("0 records"));
}

TEST(ReplayTimes, AreNotGuessedWhereTheWorkIsAnothers) {
  std::vector<cuda::DeviceRecord> records = records_at({{100, kKernel}, {120, kKernel}});
  records[1].graph = 4;
  EXPECT_THAT(why_not({operator_of(0, 1), operator_of(1, 1)}, records), HasSubstr("work of another graph"));
  EXPECT_THAT(why_not({operator_of(0, 1), operator_of(1, 0, 1)}, records_at({{100, kCopy}, {120, kKernel}})),
              HasSubstr("come in another order"));
}

}  // namespace
}  // namespace hone::runtime
