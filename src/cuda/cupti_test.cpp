#include "cuda/cupti.h"

#include <iostream>

#include "cuda/testing/fake_driver.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.h"

namespace hone::cuda {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = DeviceRecord::Kind;
using testing::CuptiFaults;

std::shared_ptr<Cupti> fake_cupti() {
  auto cupti = Cupti::load(testing::fake_places(), 13000);
  if (!cupti.ok()) throw std::logic_error(cupti.error().message);
  return *cupti;
}

// A fill and a copy out, given as they are and as a graph.
class CuptiRecords : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(context_->make_current().ok());
    stream_ = *make_stream(context_);
    block_ = *allocate(context_, 64);
    pinned_ = *allocate_pinned(context_, 64);
    const DriverFunctions& f = context_->functions();
    ASSERT_EQ(f.stream_begin_capture(stream_.get(), kCaptureThreadLocal), DriverCode::kSuccess);
    give();
    GraphHandle graph = nullptr;
    GraphExecHandle executable = nullptr;
    ASSERT_EQ(f.stream_end_capture(stream_.get(), &graph), DriverCode::kSuccess);
    graph_ = Graph(context_, graph);
    ASSERT_EQ(f.graph_instantiate(&executable, graph, 0), DriverCode::kSuccess);
    executable_ = GraphExec(context_, executable);
  }
  void give() {
    const DriverFunctions& f = context_->functions();
    ASSERT_EQ(f.memset_d8_async(block_.get(), 1, 64, stream_.get()), DriverCode::kSuccess);
    ASSERT_EQ(f.memcpy_dtoh_async(pinned_.get(), block_.get(), 64, stream_.get()), DriverCode::kSuccess);
  }
  void replay() {
    const DriverFunctions& f = context_->functions();
    ASSERT_EQ(f.graph_launch(executable_.get(), stream_.get()), DriverCode::kSuccess);
    ASSERT_EQ(f.stream_synchronize(stream_.get()), DriverCode::kSuccess);
  }
  std::string why_not(const char* faults) {
    const CuptiFaults with(faults);
    const auto cupti = fake_cupti();
    if (const Status begun = cupti->begin(); !begun.ok()) return begun.error().message;
    replay();
    const auto records = cupti->end(2);
    return records.ok() ? "" : records.error().message;
  }

  ContextPointer context_ = testing::fake_context();
  Stream stream_;
  DeviceBlock block_;
  PinnedBlock pinned_;
  Graph graph_;
  GraphExec executable_;
};

std::vector<Kind> kinds_of(const std::vector<DeviceRecord>& records) {
  std::vector<Kind> kinds;
  for (const DeviceRecord& record : records) kinds.push_back(record.kind);
  return kinds;
}

TEST_F(CuptiRecords, AreOfWhatRanBetweenBeginAndEndByTheHostsClock) {
  const auto cupti = fake_cupti();
  replay();
  ASSERT_TRUE(cupti->begin().ok());
  const int64_t before = now_ns();
  replay();
  const int64_t after = now_ns();
  const auto records = cupti->end(2);
  replay();
  ASSERT_TRUE(records.ok()) << records.error().message;
  ASSERT_THAT(kinds_of(*records), ElementsAre(Kind::kSet, Kind::kCopy));
  constexpr int64_t kReadingNs = 1'000'000;  // two readings of clocks, one after the other
  EXPECT_GE(records->front().start_ns, before - kReadingNs);
  EXPECT_LE(records->back().end_ns, after + kReadingNs);
  EXPECT_LE(records->front().end_ns, records->back().start_ns);
}

TEST_F(CuptiRecords, TellReplaysFromWhatIsGivenByItself) {
  const auto cupti = fake_cupti();
  ASSERT_TRUE(cupti->begin().ok());
  give();
  replay();
  const auto records = cupti->end(2);
  ASSERT_TRUE(records.ok()) << records.error().message;
  ASSERT_EQ(records->size(), 4U);
  EXPECT_EQ((*records)[1].graph, 0U);
  EXPECT_NE((*records)[2].graph, 0U);
  EXPECT_EQ((*records)[2].graph, (*records)[3].graph);
}

TEST_F(CuptiRecords, AreWaitedForWhereTheyComeLate) {
  const CuptiFaults late("late");
  const auto cupti = fake_cupti();
  ASSERT_TRUE(cupti->begin().ok());
  replay();
  const auto records = cupti->end(2);
  ASSERT_TRUE(records.ok()) << records.error().message;
  EXPECT_EQ(records->size(), 2U);
}

TEST_F(CuptiRecords, ThatWereLostOrHaveNoTimesAreAnError) {
  EXPECT_THAT(why_not("drops"), HasSubstr("dropped 1 records"));
  EXPECT_THAT(why_not("untimed"), HasSubstr("no times for 2 of its records"));
  EXPECT_EQ(why_not(""), "");
}

TEST_F(CuptiRecords, AreNotHadBesideAnotherProfilerOrWithoutPermission) {
  EXPECT_THAT(why_not("taken"), AllOf(HasSubstr("another profiler"), Not(HasSubstr("\n"))));
  EXPECT_THAT(why_not("refuses"), AllOf(HasSubstr("cuptiActivityEnable"), HasSubstr("run as root")));
  EXPECT_FALSE(testing::profiler_is_on());
  EXPECT_EQ(why_not(""), "") << "an error leaves nothing behind";
}

TEST_F(CuptiRecords, AreMadeForOneAtATime) {
  const auto cupti = fake_cupti(), same = fake_cupti();
  EXPECT_EQ(cupti, same);
  ASSERT_TRUE(cupti->begin().ok());
  const Status second = same->begin();
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("another plan"));
  replay();
  const auto records = cupti->end(2);
  ASSERT_TRUE(records.ok()) << records.error().message;
  EXPECT_EQ(records->size(), 2U);
}

TEST_F(CuptiRecords, CostNothingAfterwards) {
  const auto cupti = fake_cupti();
  ASSERT_TRUE(cupti->begin().ok());
  EXPECT_TRUE(testing::profiler_is_on());
  ASSERT_TRUE(cupti->end(0).ok());
  EXPECT_FALSE(testing::profiler_is_on());
  const int64_t made = testing::records_made();
  replay();
  EXPECT_EQ(testing::records_made(), made);
}

TEST(CuptiLibrary, ThatIsMissingIsSaidInOneLineWithWhereItWasLookedFor) {
  LibraryPlaces nowhere = testing::fake_places();
  nowhere.homes = {"/no/such/toolkit"};
  const auto cupti = Cupti::load(nowhere);
  ASSERT_FALSE(cupti.ok());
  EXPECT_THAT(cupti.error().message,
              AllOf(HasSubstr("CUPTI (libcupti.so.13 or libcupti.so.12) is not here"),
                    HasSubstr("/no/such/toolkit"), HasSubstr("nvidia-cuda-cupti"), Not(HasSubstr("\n"))));
}

// Where it is not installed the test says so and ends.
TEST(RealCupti, HasEveryFunctionThatIsUsed) {
  LibraryPlaces places = LibraryPlaces::of_this_process();
  places.loaded = false;  // the tests' own
  const auto cupti = Cupti::load(places);
  if (!cupti.ok() && cupti.error().code == ErrorCode::kNotFound)
    std::cerr << "\n*** NOT RUN: " << cupti.error().message << " ***\n\n";
  else
    EXPECT_TRUE(cupti.ok()) << cupti.error().message;
}

}  // namespace
}  // namespace hone::cuda
