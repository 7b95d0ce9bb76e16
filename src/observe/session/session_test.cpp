#include "observe/session/session.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "observe/session/testing/fake_recorder.h"

namespace hone::observe {
namespace {

namespace fs = std::filesystem;
using trace::segments::Mode;

class ObservedSession : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(options.folder = scratch_path("session")); }
  void TearDown() override { fs::remove_all(options.folder); }

  Session started() {
    Result<Session> session = Session::start(options);
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }
  static std::vector<Mode> modes_of(const Recorded& recorded) {
    std::vector<Mode> modes;
    for (const OrderedBlock& block : recorded.blocks) modes.push_back(block.mode);
    return modes;
  }

  SessionOptions options{.command = {"sleep", "60"}, .wait_s = 0.1};
};

TEST_F(ObservedSession, LeavesStepsAloneFirstAndThenRecordsThemInTurns) {
  Session session = started();
  const FakeRecorder program(options.folder, {});
  const Recorded recorded = session.record();
  session.send(SIGKILL);
  EXPECT_TRUE(recorded.complete);
  EXPECT_TRUE(recorded.notes.empty()) << recorded.notes.front();
  EXPECT_NEAR(static_cast<double>(recorded.rhythm.step_ns), 5e6, 2e6);
  const std::vector<Mode> modes = modes_of(recorded);
  ASSERT_EQ(modes.size(), 22u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(modes[i], Mode::kLeftAlone) << i;
  for (int i = 6; i < 18; i += 2) EXPECT_NE(modes[i], modes[i + 1]) << i;
  EXPECT_EQ(std::count(modes.begin(), modes.end(), Mode::kTimeline), 6);
  EXPECT_EQ(modes[18], Mode::kOperators);
  EXPECT_EQ(modes[19], Mode::kStacks);
  EXPECT_EQ(modes[20], Mode::kSampling);
  EXPECT_EQ(modes.back(), Mode::kCounters);
  EXPECT_EQ(program.last_order(), Mode::kFinished);
  // Nothing is recorded before the steps that are left alone.
  const auto first_timeline = std::find(program.modes().begin(), program.modes().end(), Mode::kTimeline);
  EXPECT_GE(std::count(program.modes().begin(), first_timeline, Mode::kLeftAlone), 6);
}

TEST_F(ObservedSession, TellsStepsByLaunchesWhereTheProgramGivesNoMarks) {
  Session session = started();
  const FakeRecorder program(options.folder, {.marks = false});
  const Recorded recorded = session.record();
  session.send(SIGKILL);
  EXPECT_TRUE(recorded.complete);
  EXPECT_NEAR(static_cast<double>(recorded.rhythm.step_ns), 5e6, 2e6);
  EXPECT_EQ(recorded.rhythm.call_a_step, "cudaStreamSynchronize");
  // That call tells steps in those that are left alone, before anything is recorded, too.
  EXPECT_EQ(modes_of(recorded).size(), 22u);
}

// However little the user wants to wait: what an optimizer was made for comes, and CUPTI is not touched before.
TEST_F(ObservedSession, WaitsForMarksThatAreSureToCome) {
  options.stacks = options.counters.wanted = false;
  options.wait_s = 0.01;
  Session session = started();
  const FakeRecorder program(options.folder, {.prospect = Prospect::kTraining, .first_marked = 150});
  const Recorded recorded = session.record();
  session.send(SIGKILL);
  EXPECT_GT(recorded.rhythm.marks_a_step, 0);
  ASSERT_FALSE(recorded.blocks.empty());
  EXPECT_GE(recorded.blocks[0].start_ns - recorded.start_ns, 700'000'000);
  const auto first_timeline = std::find(program.modes().begin(), program.modes().end(), Mode::kTimeline);
  EXPECT_GE(std::count(program.modes().begin(), first_timeline, Mode::kLeftAlone), 6);
}

TEST_F(ObservedSession, HasTheKernelsCountedThatTakeMostTime) {
  Session session = started();
  const FakeRecorder program(options.folder, {});
  const Recorded recorded = session.record();
  session.send(SIGKILL);
  EXPECT_TRUE(recorded.notes.empty()) << recorded.notes.front();
  EXPECT_EQ(program.counted(),
            (std::vector<std::string>{"kernel_7", "kernel_6", "kernel_5", "kernel_4", "kernel_3"}));
}

TEST_F(ObservedSession, HasTheKernelsCountedThatAreNamed) {
  options.counters.pattern = "_[01]$";
  Session session = started();
  const FakeRecorder program(options.folder, {});
  session.record();
  session.send(SIGKILL);
  EXPECT_EQ(program.counted(), (std::vector<std::string>{"kernel_1", "kernel_0"}));
}

TEST_F(ObservedSession, CountsKernelsWithoutLookingForSteps) {
  options.counters.symbols = {"kernel_2", "kernel_5", "kernel_of_another"};
  options.keep_going = [] { return true; };
  Session session = started();
  const FakeRecorder program(options.folder, {.marks = false});
  const Recorded recorded = session.count();
  session.end_program(0.1);
  EXPECT_EQ(session.wait(), 128 + SIGTERM);
  EXPECT_TRUE(recorded.complete);
  EXPECT_EQ(modes_of(recorded), (std::vector<Mode>{Mode::kTimeline, Mode::kCounters}));
  EXPECT_EQ(program.counted(), (std::vector<std::string>{"kernel_5", "kernel_2"}));
  EXPECT_EQ(program.last_order(), Mode::kFinished);
}

TEST_F(ObservedSession, CountsNothingWhereNoneOfTheKernelsComes) {
  options.counters.symbols = {"kernel_of_another"};
  options.counters.most_s = 0.5;
  Session session = started();
  const FakeRecorder program(options.folder, {});
  EXPECT_FALSE(session.count().complete);
  session.send(SIGKILL);
  EXPECT_TRUE(program.counted().empty());
}

TEST_F(ObservedSession, CountsNothingOfAProgramWithoutADevice) {
  Session session = started();
  const FakeRecorder program(options.folder, {.device = false});
  const Recorded recorded = session.count();
  session.send(SIGKILL);
  EXPECT_FALSE(recorded.complete);
  EXPECT_FALSE(recorded.any_device);
}

// However long it would go on, and whatever the program does with a request to end.
TEST_F(ObservedSession, EndsWhenNobodyWantsMore) {
  options.command = {"sh", "-c", "trap '' TERM; exec sleep 60"};
  const int64_t start = now_ns();
  options.keep_going = [&] { return now_ns() - start < 300'000'000; };
  Session session = started();
  EXPECT_FALSE(session.count().complete);
  session.end_program(0.2);
  EXPECT_EQ(session.wait(), 128 + SIGKILL);
  EXPECT_LT(now_ns() - start, 5'000'000'000);
}

TEST_F(ObservedSession, SaysThatNoKernelIsNamedSo) {
  options.counters.pattern = "conv";
  Session session = started();
  const FakeRecorder program(options.folder, {});
  const Recorded recorded = session.record();
  session.send(SIGKILL);
  EXPECT_TRUE(program.counted().empty());
  ASSERT_EQ(recorded.notes.size(), 1u);
  EXPECT_NE(recorded.notes[0].find("matches 'conv'"), std::string::npos);
}

TEST_F(ObservedSession, HasTheDevicesSampledThatRunKernels) {
  Session session = started();
  const FakeRecorder program(options.folder, {});
  session.record();
  session.send(SIGKILL);
  const auto request = read_file(options.folder / kSamplingFolder / std::to_string(::getpid()));
  ASSERT_TRUE(request.ok());
  EXPECT_NE(request->find("sample 0 200000\n"), std::string::npos) << *request;
}

TEST_F(ObservedSession, SamplesNothingUnlessItIsWanted) {
  options.sampling = false;
  Session session = started();
  const FakeRecorder program(options.folder, {});
  const std::vector<Mode> modes = modes_of(session.record());
  session.send(SIGKILL);
  EXPECT_EQ(std::count(modes.begin(), modes.end(), Mode::kSampling), 0);
}

TEST_F(ObservedSession, CountsNothingUnlessItIsWanted) {
  options.counters.wanted = false;
  Session session = started();
  const FakeRecorder program(options.folder, {});
  const Recorded recorded = session.record();
  session.send(SIGKILL);
  const std::vector<Mode> modes = modes_of(recorded);
  EXPECT_EQ(std::count(modes.begin(), modes.end(), Mode::kCounters), 0);
}

TEST_F(ObservedSession, StartsNothingForAPatternThatIsNone) {
  options.counters.pattern = "(";
  EXPECT_FALSE(Session::start(options).ok());
}

TEST_F(ObservedSession, RecordsOperatorsWhereThereIsNoDevice) {
  Session session = started();
  const FakeRecorder program(options.folder, {.device = false});
  const Recorded recorded = session.record();
  session.send(SIGKILL);
  EXPECT_TRUE(recorded.complete);
  const std::vector<Mode> modes = modes_of(recorded);
  EXPECT_EQ(std::count(modes.begin(), modes.end(), Mode::kTimeline), 0);
  EXPECT_EQ(std::count(modes.begin(), modes.end(), Mode::kOperators), 6);
}

TEST_F(ObservedSession, KeepsWhatWasOrderedWhereTheProgramEndsFirst) {
  options.command = {"sleep", "0.5"};
  Session session = started();
  const FakeRecorder program(options.folder, {});
  const Recorded recorded = session.record();
  EXPECT_FALSE(recorded.complete);
  EXPECT_EQ(session.wait(), 0);
}

TEST_F(ObservedSession, EndsWithAProgramThatNobodyRecords) {
  options.command = {"sh", "-c", "exit 7"};
  Session session = started();
  const Recorded recorded = session.record();
  EXPECT_EQ(recorded.processes, 0);
  EXPECT_TRUE(recorded.blocks.empty());
  EXPECT_EQ(session.wait(), 7);
}

TEST_F(ObservedSession, SaysWhereAProcessDoesNotFollow) {
  Session session = started();
  const FakeRecorder program(options.folder, {.obeys = false});
  const Recorded recorded = session.record();
  session.send(SIGKILL);
  ASSERT_EQ(recorded.notes.size(), 1u);
  EXPECT_NE(recorded.notes[0].find("did not follow"), std::string::npos);
}

TEST_F(ObservedSession, SaysWhatCouldNotBeWritten) {
  options.command = {"sleep", "0.2"};
  Session session = started();
  const FakeRecorder program(options.folder, {.write_error = ENOSPC});
  const Recorded recorded = session.record();
  ASSERT_EQ(recorded.notes.size(), 1u);
  EXPECT_NE(recorded.notes[0].find("could not be written (No space left on device)"), std::string::npos)
      << recorded.notes[0];
}

// Whoever reads or writes behind the end of a file that is mapped is ended by a signal.
TEST_F(ObservedSession, HasAPageThatNobodyCanCutShort) {
  options.command = {"true"};
  const Session session = started();
  EXPECT_NE(::truncate((options.folder / kControlFile).c_str(), 0), 0);
  EXPECT_EQ(errno, EPERM);
  const FakeRecorder program(options.folder, {});
}

TEST_F(ObservedSession, EndsAProgramThatDoesNotWantTo) {
  options.command = {"sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"};
  Session session = started();
  ::usleep(200'000);
  session.end_program(0.3);
  EXPECT_EQ(session.wait(), 128 + SIGKILL);
}

}  // namespace
}  // namespace hone::observe
