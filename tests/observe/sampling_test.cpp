// Sampling of devices inside a program, over the CUPTI of observe/inject/testing, whose samples follow each other by the clock
// of the calendar and whose metrics are as large as their names are long.
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "tests/observe/observed_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/import.h"

namespace hone::observe::testing {
namespace {

namespace segments = trace::segments;
using segments::Mode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ProgramOnSampledDevice : public ::testing::Test {
 protected:
  static constexpr const char* kLines =
      "metric gr__one.avg\nmetric unknown__metric dram__two.sum\nsample 0 1000000\n";

  // Starts the program, has a timeline recorded, and has it sampled for a tenth of a second.
  void sample(const std::string& lines, const std::string& cupti = "") {
    program.emplace(folder, std::map<std::string, std::string>{{"FAKE_CUPTI", cupti}});
    program->perform("init");
    ASSERT_TRUE(program->order(Mode::kTimeline));
    program->perform("launch 3");
    std::filesystem::create_directories(folder.path() / kSamplingFolder);
    std::ofstream(folder.path() / kSamplingFolder / std::to_string(program->pid())) << lines;
    ASSERT_TRUE(program->order(Mode::kSampling));
    program->perform("launch 3");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  RawSegment segment_at_the_end() {
    EXPECT_EQ(program->wait(), 0);
    const auto found = read_raw_segments(folder.path());
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? RawSegment() : found[0];
  }
  trace::Trace trace_at_the_end() {
    EXPECT_EQ(program->wait(), 0);
    const std::array<std::filesystem::path, 1> paths = {folder.path()};
    Result<trace::Trace> read = trace::import_trace(paths);
    EXPECT_TRUE(read.ok()) << read.error().message;
    return *std::move(read);
  }

  RunFolder folder;
  std::optional<ObservedProgram> program;
};

TEST_F(ProgramOnSampledDevice, BringsSamplesIntoTheTraceOnItsClock) {
  sample(kLines);
  ASSERT_TRUE(program->order(Mode::kTimeline));
  program->perform("launch 2");
  const trace::Trace trace = trace_at_the_end();
  ASSERT_THAT(trace.samples, SizeIs(1));
  const trace::DeviceSamples& samples = trace.samples[0];
  EXPECT_EQ(samples.interval_ns, 1'000'000);
  ASSERT_THAT(samples.metrics, SizeIs(2));
  EXPECT_EQ(trace.strings.text(samples.metrics[1]), "dram__two.sum");
  EXPECT_GE(samples.size(), 90u);
  EXPECT_THAT(samples.row(50), ElementsAre(11, 13));
  const auto block = std::find_if(trace.meta.blocks.begin(), trace.meta.blocks.end(),
                                  [](const auto& each) { return each.mode == trace::BlockMode::kSampling; });
  ASSERT_NE(block, trace.meta.blocks.end());
  constexpr int64_t kNearly = 20'000'000;  // ns; clocks are compared when samples are collected
  EXPECT_GE(samples.start_ns.front(), block->start_ns - kNearly);
  EXPECT_LE(samples.end_ns.back(), block->end_ns + kNearly);
  EXPECT_THAT(trace.meta.warnings, IsEmpty());
  EXPECT_EQ(trace.spans.size(),
            5u * 2);  // kernels and the calls that launched them: none while devices are sampled
}

TEST_F(ProgramOnSampledDevice, WritesDownWhatWasSampledWhenTheProgramEnds) {
  sample(kLines);
  EXPECT_GE(trace_at_the_end().samples.at(0).size(), 90u);
}

TEST_F(ProgramOnSampledDevice, SamplesAgainInAnotherBlock) {
  sample(kLines);
  ASSERT_TRUE(program->order(Mode::kLeftAlone));
  ASSERT_TRUE(program->order(Mode::kSampling));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_GE(trace_at_the_end().samples.at(0).size(), 130u);
}

TEST_F(ProgramOnSampledDevice, SaysThatTheUserMayNotReadCountersAndRunsOn) {
  sample(kLines, "no_counters");
  ASSERT_TRUE(program->order(Mode::kTimeline));
  program->perform("launch 4");
  const RawSegment segment = segment_at_the_end();
  EXPECT_THAT(segment.notes(), ElementsAre(HasSubstr("no hardware counters: this user may not read")));
  EXPECT_THAT(segment.all<segments::DeviceSamples>(), IsEmpty());
  EXPECT_THAT(segment.all<segments::Kernel>(), SizeIs(7));
}

TEST_F(ProgramOnSampledDevice, SaysThatTheDeviceCannotBeSampled) {
  sample(kLines, "sampled");
  EXPECT_THAT(segment_at_the_end().notes(),
              ElementsAre(HasSubstr("GPU 0 was not sampled: sampling cannot be enabled")));
}

TEST_F(ProgramOnSampledDevice, SaysThatCuptiDoesNotKnowTheChip) {
  sample(kLines, "no_profiler");
  EXPECT_THAT(segment_at_the_end().notes(), ElementsAre(HasSubstr("none of its counters can be sampled")));
}

TEST_F(ProgramOnSampledDevice, SaysThatSamplesCameTooFast) {
  sample(kLines, "overflows");
  EXPECT_THAT(segment_at_the_end().notes(), ElementsAre(HasSubstr("faster than they could be read")));
}

TEST_F(ProgramOnSampledDevice, SamplesNothingWhereNothingIsAsked) {
  sample("");
  const RawSegment segment = segment_at_the_end();
  EXPECT_THAT(segment.all<segments::DeviceSamples>(), IsEmpty());
  EXPECT_THAT(segment.notes(), IsEmpty());
}

}  // namespace
}  // namespace hone::observe::testing
