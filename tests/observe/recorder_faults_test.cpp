// What may go wrong in a program and around it: it ends as it would have ended, and the segment can be read.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "tests/observe/observed_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace hone::observe::testing {
namespace {

namespace segments = trace::segments;
using segments::Mode;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RawSegment first_segment(const RunFolder& folder) {
  const auto found = read_raw_segments(folder.path());
  return found.empty() ? RawSegment() : found[0];
}

// Records three kernels and waits until they are in the file.
void record_three(RunFolder& folder, ObservedProgram& program) {
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  program.perform("launch 3");
  program.perform("mark a step");
  EXPECT_TRUE(eventually([&] {
    const RawSegment segment = first_segment(folder);
    return segment.all<segments::Kernel>().size() == 3 && segment.all<segments::Mark>().size() == 1;
  }));
}

struct Ending {
  const char* line;
  int status;
};

class RecorderEndings : public ::testing::TestWithParam<Ending> {};

TEST_P(RecorderEndings, LeaveTheProgramsStatusAndAReadableSegment) {
  RunFolder folder;
  ObservedProgram program(folder);
  record_three(folder, program);
  program.begin(GetParam().line);
  EXPECT_EQ(program.wait(), GetParam().status);
  const RawSegment segment = first_segment(folder);
  EXPECT_TRUE(segment.whole);
  EXPECT_THAT(segment.all<segments::Kernel>(), SizeIs(3));
}

INSTANTIATE_TEST_SUITE_P(Each, RecorderEndings,
                         ::testing::Values(Ending{"exit 3", 3}, Ending{"_exit 4", 4},
                                           Ending{"crash", 128 + SIGSEGV}),
                         [](const auto& ending) {
                           return std::string(ending.param.line).substr(0, 1) == "_" ? "AtOnce"
                                  : ending.param.status > 128                        ? "Crash"
                                                                                     : "Exit";
                         });

TEST(RecorderFaults, AKilledProgramLeavesWhatItRecorded) {
  RunFolder folder;
  ObservedProgram program(folder);
  record_three(folder, program);
  program.kill(SIGKILL);
  EXPECT_EQ(program.wait(), 128 + SIGKILL);
  EXPECT_TRUE(first_segment(folder).whole);
}

TEST(RecorderFaults, SignalsReachTheProgramAndNotTheRecorder) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("sigusr1");
  program.kill(SIGUSR1);
  EXPECT_EQ(program.wait(), 77);
}

TEST(RecorderFaults, WithoutARunFolderNothingHappens) {
  RunFolder folder;
  ObservedProgram program(folder, {}, false);
  program.perform("init");
  EXPECT_EQ(program.perform("mode"), "mode 6\nok\n");
  EXPECT_EQ(program.perform("ranges 3"), "ok\n");
  EXPECT_EQ(program.perform("launch 3"), "ok\n");
  EXPECT_EQ(program.wait(), 0);
  EXPECT_THAT(read_raw_segments(folder.path()), IsEmpty());
}

TEST(RecorderFaults, AnUnwritableFolderCountsWhatIsLostAndTheProgramRuns) {
  RunFolder folder;
  std::filesystem::create_directory(folder.path() / segments::kFolder);
  std::ofstream(folder.path() / "a file");
  std::filesystem::remove(folder.path() / segments::kFolder);
  std::filesystem::create_symlink("/proc/nowhere", folder.path() / segments::kFolder);
  ObservedProgram program(folder);
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  EXPECT_EQ(program.perform("launch 3"), "ok\n");
  EXPECT_EQ(program.slot()->bytes, 0u);
  EXPECT_EQ(folder.control().write_errors[0], ENOENT);
  program.begin("exit 5");
  EXPECT_EQ(program.wait(), 5);
}

// A limit stands for a full disk: both stop a write in its middle, and the limit raises a signal besides.
TEST(RecorderFaults, AFullDiskLeavesWholeRecordsAndTheProgramRuns) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("load");
  program.perform("limit 100000");
  ASSERT_TRUE(program.order(Mode::kOperators));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(program.perform("ranges 10000"), "ok\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  EXPECT_TRUE(eventually([&] { return program.slot()->dropped > 0; }));
  EXPECT_EQ(folder.control().write_errors[0], EFBIG);
  program.begin("exit 6");
  EXPECT_EQ(program.wait(), 6);
  const RawSegment segment = first_segment(folder);
  EXPECT_TRUE(segment.whole);
  EXPECT_FALSE(segment.names.empty());
}

struct Refusal {
  const char* how;
  const char* says;
};

class RecorderRefusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(RecorderRefusals, AreALineForTheUserAndTheHostIsRecorded) {
  RunFolder folder;
  ObservedProgram program(folder, {{"FAKE_CUPTI", GetParam().how}});
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  program.perform("launch 3");
  program.perform("mark a step");
  EXPECT_TRUE(eventually([&] { return program.slot()->attachment == Attachment::kHostOnly; }));
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = first_segment(folder);
  EXPECT_THAT(segment.notes(), ElementsAre(HasSubstr(GetParam().says)));
  EXPECT_THAT(segment.all<segments::Mark>(), SizeIs(1));
  EXPECT_THAT(segment.all<segments::Kernel>(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Each, RecorderRefusals,
    ::testing::Values(Refusal{"taken",
                              "own profiler has CUPTI, which serves one at a time (CUPTI for someone)"},
                      Refusal{"old", "API version 17"}, Refusal{"refuses", "refuses to record kernels"}),
    [](const auto& refusal) { return refusal.param.how; });

TEST(RecorderFaults, AProfilerOfTheProgramThatHasEndedIsNoHindrance) {
  RunFolder folder;
  ObservedProgram program(folder, {{"LD_PRELOAD", fake_cupti()}, {"FAKE_CUPTI", "taken_once"}});
  program.perform("init");
  for (int block = 0; block < 2; ++block) {
    ASSERT_TRUE(program.order(Mode::kTimeline));
    program.perform("launch 3");
    ASSERT_TRUE(program.order(Mode::kLeftAlone));
  }
  EXPECT_EQ(program.slot()->attachment, Attachment::kAttached);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_THAT(first_segment(folder).all<segments::Kernel>(), SizeIs(3));
  EXPECT_THAT(first_segment(folder).notes(), SizeIs(1));
}

TEST(RecorderFaults, RecordsThatCuptiDropsAreCounted) {
  RunFolder folder;
  ObservedProgram program(folder, {{"FAKE_CUPTI", "drops"}});
  record_three(folder, program);
  ASSERT_TRUE(program.order(Mode::kLeftAlone));
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = first_segment(folder);
  const auto dropped = segment.all<segments::Dropped>();
  ASSERT_FALSE(dropped.empty());
  EXPECT_EQ(dropped[0].records, 7u);
  EXPECT_THAT(segment.name(dropped[0].what), HasSubstr("CUPTI"));
}

TEST(RecorderFaults, AProgramThatProfilesItselfGetsCupti) {
  RunFolder folder;
  ObservedProgram program(folder);
  record_three(folder, program);
  program.perform("leave");
  program.perform("launch 5");
  program.perform("mark after");
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = first_segment(folder);
  EXPECT_THAT(segment.all<segments::Kernel>(), SizeIs(3));
  EXPECT_THAT(segment.all<segments::Mark>(), SizeIs(2));
  EXPECT_THAT(segment.notes(), ElementsAre("the program profiles itself"));
}

TEST(RecorderFaults, WhatTheProgramsProfilerHasDoneWithIsRecordedAgain) {
  RunFolder folder;
  ObservedProgram program(folder);
  record_three(folder, program);
  program.perform("leave");
  EXPECT_EQ(program.slot()->attachment, Attachment::kLent);
  ASSERT_TRUE(program.order(Mode::kTimeline));
  program.perform("launch 5");
  program.perform("return");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  program.perform("launch 2");
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = first_segment(folder);
  EXPECT_THAT(segment.all<segments::Kernel>(), SizeIs(5));
  EXPECT_THAT(segment.notes(), SizeIs(1));
}

// CUPTI tells of nodes while it is subscribed, and graphs are captured before anything is recorded.
TEST(RecorderFaults, NodesOfGraphsThatWereCapturedEarlierAreKnown) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  program.perform("captured");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  program.perform("graph");
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = first_segment(folder);
  EXPECT_THAT(segment.all<segments::GraphNode>(), SizeIs(6));
  EXPECT_THAT(segment.all<segments::Kernel>(), SizeIs(2));
  EXPECT_THAT(segment.names_of(&segments::Range::name), ElementsAre("aten::mm"));
}

TEST(RecorderFaults, AForkedWorkerHasASegmentOfItsOwn) {
  RunFolder folder;
  ObservedProgram program(folder);
  record_three(folder, program);
  EXPECT_EQ(program.perform("fork"), "ok\n");
  program.perform("launch 2");
  EXPECT_EQ(program.wait(), 0);
  const auto found = read_raw_segments(folder.path());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0].all<segments::Kernel>(), SizeIs(5));
  const RawSegment& child = found[1];
  EXPECT_TRUE(child.whole);
  EXPECT_EQ(child.header.forked, 1u);
  EXPECT_EQ(child.header.parent_pid, program.pid());
  EXPECT_THAT(child.names_of(&segments::Mark::name), ElementsAre("in the child"));
  EXPECT_THAT(child.names_of(&segments::Range::name), ElementsAre("worker"));
  EXPECT_EQ(child.all<segments::Range>()[0].tid, child.header.pid);
  EXPECT_THAT(child.all<segments::Kernel>(), IsEmpty());
}

TEST(RecorderFaults, AForkedWorkerThatStartsCudaItselfIsRecorded) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("load");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  EXPECT_EQ(program.perform("forkcuda"), "ok\n");
  EXPECT_EQ(program.wait(), 0);
  const auto found = read_raw_segments(folder.path());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[1].names_of(&segments::Kernel::name),
              ElementsAre("of_a_child", "of_a_child", "of_a_child"));
}

TEST(RecorderFaults, SixteenForkedWorkersLeaveSixteenSegments) {
  RunFolder folder;
  ObservedProgram program(folder);
  record_three(folder, program);
  EXPECT_EQ(program.perform("forks 16"), "ok\n");
  EXPECT_EQ(program.wait(), 0);
  const auto found = read_raw_segments(folder.path());
  ASSERT_THAT(found, SizeIs(17));
  for (size_t i = 1; i < found.size(); ++i) {
    EXPECT_TRUE(found[i].whole);
    EXPECT_THAT(found[i].names_of(&segments::Mark::name), ElementsAre("one of many"));
  }
}

TEST(RecorderFaults, AChildThatExecutesAnotherProgramLeavesNothing) {
  RunFolder folder;
  ObservedProgram program(folder);
  record_three(folder, program);
  EXPECT_EQ(program.perform("forkexec"), "ok\n");
  EXPECT_EQ(program.wait(), 0);
  EXPECT_THAT(read_raw_segments(folder.path()), SizeIs(1));
}

TEST(RecorderFaults, AProgramThatIsExecutedInItsPlaceIsRecordedToo) {
  RunFolder folder;
  ObservedProgram program(folder);
  record_three(folder, program);
  program.begin("exec");
  program.perform("init");
  program.perform("launch 2");
  EXPECT_EQ(program.wait(), 0);
  const auto found = read_raw_segments(folder.path());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].header.pid, found[1].header.pid);
  EXPECT_TRUE(found[0].whole && found[1].whole);
}

TEST(RecorderFaults, OnceTheSessionIsGoneTheRecorderEndsAndTheProgramRuns) {
  RunFolder folder;
  ObservedProgram session(folder, {}, false);  // any process that lives for a while
  folder.control().session_pid = session.pid();
  ObservedProgram program(folder);
  record_three(folder, program);
  session.kill(SIGKILL);
  session.wait();
  EXPECT_TRUE(eventually([&] { return program.perform("mode") == "mode 6\nok\n"; }));
  EXPECT_EQ(program.perform("launch 3"), "ok\n");
  EXPECT_TRUE(eventually(
      [&] { return first_segment(folder).all<segments::ModeChange>().back().mode == Mode::kFinished; }));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_TRUE(first_segment(folder).whole);
}

}  // namespace
}  // namespace hone::observe::testing
