// What holds memory when most is taken, on histories of an allocator made up event by event.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/memory/memory_findings.h"
#include "core/testing/source_folder.h"
#include "trace/allocator_history.h"
#include "trace/import/import.h"

namespace hone::analyze {
namespace {

using testing::HasSubstr;
using trace::AllocatorHistory, trace::MemoryAction, trace::MemoryEvent;

constexpr uint32_t kWeights = 1, kActivations = 2, kGradients = 3;

AllocatorHistory named_history() {
  AllocatorHistory history;
  history.whole = false;
  history.holders = {{},
                     {"model.py:10 build", "linear.py:100 __init__"},
                     {"train.py:31 step", ""},
                     {"train.py:32 step", ""}};
  return history;
}

MemoryEvent event_at(int64_t us, MemoryAction action, uint64_t address, int64_t bytes, uint32_t holder = 0) {
  return {us * 1000, address, bytes, 0, holder, action};
}

DeviceMemory study(AllocatorHistory history) {
  trace::Trace trace;
  trace.memory = std::make_shared<const AllocatorHistory>(std::move(history));
  MemoryFindings found = study_memory(trace);
  EXPECT_EQ(found.devices.size(), 1u);
  return found.devices.empty() ? DeviceMemory{} : std::move(found.devices.front());
}

TEST(StudyMemory, NamesWhoHoldsMostWhenMostIsTaken) {
  AllocatorHistory history = named_history();
  history.whole = true;
  history.events = {event_at(0, MemoryAction::kTake, 1, 100, kWeights),
                    event_at(1, MemoryAction::kTake, 2, 300, kActivations),
                    event_at(2, MemoryAction::kTake, 3, 200, kActivations),
                    event_at(3, MemoryAction::kGive, 3, 200),
                    event_at(4, MemoryAction::kTake, 4, 50, kGradients)};
  const DeviceMemory memory = study(std::move(history));
  EXPECT_EQ(memory.peak_bytes, 600);
  EXPECT_EQ(memory.peak_ms, 2e-3);
  EXPECT_FALSE(memory.peak_is_bound);
  ASSERT_EQ(memory.holdings.size(), 2u);
  EXPECT_EQ(memory.holdings[0].holder, "train.py:31 step");
  EXPECT_EQ(memory.holdings[0].bytes, 500);
  EXPECT_EQ(memory.holdings[0].blocks, 2);
  EXPECT_NEAR(memory.holdings[0].share, 5.0 / 6, 1e-12);
  EXPECT_EQ(memory.holdings[1].inside, "linear.py:100 __init__");
  ASSERT_EQ(memory.course.size(), 6u);
  EXPECT_EQ(memory.course.back().allocated, 450);
}

// What was taken before the history begins is known by what is there at the end, or by its being given back.
TEST(StudyMemory, KnowsWhatWasThereBeforeTheEventsBegin) {
  AllocatorHistory history = named_history();
  history.segments = {{1000, 4000, 0}};
  history.blocks = {{1000, 1500, 0, kWeights, true}, {2500, 2500, 0, 0, false}};
  history.events = {event_at(0, MemoryAction::kGive, 2500, 700),
                    event_at(1, MemoryAction::kTake, 2500, 500, kActivations),
                    event_at(2, MemoryAction::kGive, 2500, 500)};
  const DeviceMemory memory = study(std::move(history));
  EXPECT_TRUE(memory.peak_is_bound);
  EXPECT_EQ(memory.peak_bytes, 2200);
  EXPECT_EQ(memory.peak_ms, 0);
  ASSERT_EQ(memory.holdings.size(), 2u);
  EXPECT_EQ(memory.holdings[0].holder, "model.py:10 build");
  EXPECT_EQ(memory.holdings[1].holder, "taken before the events begin");
  EXPECT_EQ(memory.course.back().allocated, memory.end_bytes);
}

TEST(StudyMemory, TellsFreePiecesBetweenTensorsFromFreeSegments) {
  AllocatorHistory history = named_history();
  history.segments = {{1000, 3000, 0}, {9000, 500, 0}};
  history.blocks = {{1000, 1000, 0, kWeights, true},
                    {2000, 600, 0, 0, false},
                    {2600, 400, 0, kGradients, true},
                    {3000, 1000, 0, 0, false},
                    {9000, 500, 1, 0, false}};
  const DeviceMemory memory = study(std::move(history));
  EXPECT_EQ(memory.end_bytes, 1400);
  EXPECT_EQ(memory.end_reserved, 3500);
  EXPECT_EQ(memory.between_blocks, 1600);
  EXPECT_EQ(memory.free_segments, 500);
  EXPECT_EQ(memory.largest_free, 1000);
  EXPECT_NEAR(memory.fragmentation(), 1600.0 / 3500, 1e-12);
  EXPECT_EQ(memory.peak_bytes, 1400);  // without events, what there is
  EXPECT_TRUE(memory.course.empty());
}

TEST(StudyMemory, FollowsWhatTheAllocatorHasOfTheDevice) {
  AllocatorHistory history = named_history();
  history.segments = {{1000, 2000, 0}};
  history.events = {
      event_at(0, MemoryAction::kReserve, 1000, 2000), event_at(1, MemoryAction::kReserve, 5000, 4000),
      event_at(2, MemoryAction::kOutOfMemory, 0, 7000), event_at(3, MemoryAction::kRelease, 5000, 4000)};
  const DeviceMemory memory = study(std::move(history));
  EXPECT_EQ(memory.peak_reserved, 6000);
  EXPECT_EQ(memory.course.back().reserved, 2000);
  EXPECT_EQ(memory.failed, 1);
  EXPECT_EQ(memory.failed_bytes, 7000);
}

// As the profiler does: what was taken before it began is in the total alone.
TEST(StudyMemory, TakesTheRecordersOwnTotals) {
  AllocatorHistory history = named_history();
  history.events = {event_at(0, MemoryAction::kTake, 1, 100, kActivations),
                    event_at(1, MemoryAction::kGive, 1, 100)};
  history.events[0].allocated = 1100, history.events[0].reserved = 4000;
  history.events[1].allocated = 1000, history.events[1].reserved = 2000;
  const DeviceMemory memory = study(std::move(history));
  EXPECT_EQ(memory.peak_bytes, 1100);
  EXPECT_FALSE(memory.peak_is_bound);
  EXPECT_EQ(memory.peak_reserved, 4000);
  EXPECT_EQ(memory.end_bytes, 1000);
  ASSERT_EQ(memory.holdings.size(), 2u);
  EXPECT_EQ(memory.holdings[0].holder, "taken before the events begin");
  EXPECT_EQ(memory.holdings[0].bytes, 1000);
}

TEST(StudyMemory, KeepsThePeakOfALongCourse) {
  AllocatorHistory history = named_history();
  for (int64_t i = 0; i < 20'000; ++i)
    history.events.push_back(i % 2 == 0 ? event_at(i, MemoryAction::kTake, 7, i == 5000 ? 900 : 10, kWeights)
                                        : event_at(i, MemoryAction::kGive, 7, 10));
  const DeviceMemory memory = study(std::move(history));
  EXPECT_LE(memory.course.size(), kMostMoments);
  EXPECT_EQ(memory.peak_bytes, 900);
  EXPECT_TRUE(std::any_of(memory.course.begin(), memory.course.end(),
                          [](const MemoryMoment& moment) { return moment.allocated == 900; }));
}

// Of six blocks of a network that trains on an H100; what PyTorch says of itself was written down with it.
TEST(StudyMemory, OfARecordedSnapshotAgreesWithTheAllocatorsOwnCounters) {
  const std::vector<std::filesystem::path> paths = {source_folder() /
                                                    "tests/traces/memory/h100_blocks.pickle.gz"};
  const auto trace = trace::import_trace(paths);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const MemoryFindings found = study_memory(*trace);
  ASSERT_EQ(found.devices.size(), 1u);
  const DeviceMemory& memory = found.devices.front();
  EXPECT_EQ(memory.end_bytes, 952'573'952);
  EXPECT_EQ(memory.end_reserved, 1'965'031'424);
  EXPECT_NEAR(memory.peak_bytes, 1'813'722'624, 1e-5 * memory.peak_bytes);
  EXPECT_EQ(memory.peak_reserved, 1'965'031'424);
  EXPECT_EQ(memory.between_blocks, 72'933'376);  // inactive_split_bytes
  EXPECT_FALSE(memory.peak_is_bound);
  double held = 0;
  for (const MemoryHolding& holding : memory.holdings) held += holding.bytes;
  EXPECT_NEAR(held, memory.peak_bytes, 1);
  EXPECT_EQ(memory.holdings.front().holder, "programs.py:12 forward");
}

TEST(StudyMemory, ASnapshotAloneIsExplainedWithoutAStep) {
  AllocatorHistory history = named_history();
  history.events = {event_at(0, MemoryAction::kTake, 1, 100, kWeights)};
  trace::Trace trace;
  trace.memory = std::make_shared<const AllocatorHistory>(std::move(history));
  const auto analysis = analyze_trace(trace, Roofs{}, {});
  ASSERT_TRUE(analysis.ok()) << analysis.error().message;
  EXPECT_TRUE(analysis->verdict.given);
  EXPECT_FALSE(analysis->verdict.healthy());
  EXPECT_THAT(analysis->verdict.sentence, HasSubstr("model.py:10 build"));
  ASSERT_NE(analysis->memory, nullptr);
}

}  // namespace
}  // namespace hone::analyze
