// Hardware counters inside a program, over the CUPTI of observe/inject/testing, whose metrics are as large as their names
// are long: which launches are counted, and that nothing else happens to the program.
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "tests/observe/observed_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/testing/source_folder.h"
#include "trace/import/import.h"

namespace hone::observe::testing {
namespace {

namespace segments = trace::segments;
using segments::Mode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CountedProgram : public ::testing::Test {
 protected:
  static constexpr const char* kMetrics = "metric dram__bytes_read.sum\nmetric gpu__time_duration.sum\n";

  // Starts the program, has a timeline recorded, and orders what the lines ask for.
  void count(const std::string& lines, const std::string& cupti = "", const std::string& cuda = "") {
    program.emplace(folder, std::map<std::string, std::string>{
                                {"FAKE_CUPTI", cupti}, {"FAKE_CUDA", cuda}, {kLinesVariable, looks_at_code}});
    program->perform("init");
    if (!module.empty()) program->perform("module " + module);
    ASSERT_TRUE(program->order(Mode::kTimeline));
    program->perform("launch 3");
    request(lines);
    ASSERT_TRUE(program->order(Mode::kCounters));
  }
  void request(const std::string& lines) {
    std::filesystem::create_directories(folder.path() / kCountersFolder);
    std::ofstream(folder.path() / kCountersFolder / std::to_string(program->pid())) << lines;
  }
  bool all_counted() {
    return eventually([&] { return program->slot()->counted == folder.control().order.number; });
  }
  RawSegment segment_at_the_end() {
    EXPECT_EQ(program->wait(), 0);
    const auto found = read_raw_segments(folder.path());
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? RawSegment() : found[0];
  }

  RunFolder folder;
  std::optional<ObservedProgram> program;
  std::string looks_at_code = "0", module;
};

TEST_F(CountedProgram, CountsAsManyLaunchesOfAKernelAsAreWanted) {
  count(std::string(kMetrics) + "kernel 3 0 4 1 1 128 1 1 a_kernel\n");
  EXPECT_NE(program->slot()->counted, folder.control().order.number);
  for (const char* line : {"launch 2", "driver 4", "graph", "launch 5"}) program->perform(line);
  EXPECT_TRUE(all_counted());
  const RawSegment segment = segment_at_the_end();
  const auto counted = segment.all<segments::Counters>();
  ASSERT_THAT(counted, SizeIs(3));
  EXPECT_THAT(segment.names_of(&segments::Counters::name), ElementsAre("a_kernel", "a_kernel", "a_kernel"));
  EXPECT_EQ(counted[2].instance, 2u);
  EXPECT_EQ(counted[2].passes, 1u);
  EXPECT_EQ(counted[2].values, 2u);
  EXPECT_THAT(counted[2].grid, ElementsAre(4, 1, 1));
  EXPECT_THAT(segment.all<segments::Kernel>(), SizeIs(3));
  EXPECT_THAT(segment.notes(), IsEmpty());
}

TEST_F(CountedProgram, BringsValuesIntoTheTrace) {
  count(std::string(kMetrics) +
        "metric unknown__metric sm__first_known.sum\nkernel 1 0 4 1 1 128 1 1 a_kernel\n");
  program->perform("launch 1");
  EXPECT_TRUE(all_counted());
  EXPECT_EQ(program->wait(), 0);
  const std::array<std::filesystem::path, 1> paths = {folder.path()};
  const Result<trace::Trace> read = trace::import_trace(paths);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_THAT(read->counters, SizeIs(1));
  EXPECT_EQ(read->strings.text(read->counters[0].kernel), "a_kernel");
  EXPECT_EQ(read->counters[0].registers, 32u);
  EXPECT_THAT(read->counters[0].values, SizeIs(3));
  EXPECT_EQ(trace::counter_value(read->counters[0], read->strings, "sm__first_known.sum"), 19);
  EXPECT_EQ(trace::counter_value(read->counters[0], read->strings, "dram__bytes_read.sum"), 20);
}

TEST_F(CountedProgram, CountsEachKernelOnceBeforeItCountsOneTwice) {
  count(std::string(kMetrics) + "kernel 2 0 4 1 1 128 1 1 a_kernel\nkernel 2 0 4 1 1 128 1 1 by_driver\n");
  for (const char* line : {"launch 5", "driver 5", "launch 5"}) program->perform(line);
  EXPECT_TRUE(all_counted());
  EXPECT_THAT(segment_at_the_end().names_of(&segments::Counters::name),
              ElementsAre("a_kernel", "by_driver", "by_driver", "a_kernel"));
}

TEST_F(CountedProgram, CountsInOnePassALaunchWhereMemoryIsTooFullToBeSaved) {
  count(
      "metric m1\nmetric m2\nmetric m3\nmetric m4\nmetric m5\nmetric m6\n"
      "kernel 3 0 4 1 1 128 1 1 a_kernel\n",
      "", "full");
  program->perform("launch 9");
  EXPECT_TRUE(all_counted());
  const auto counted = segment_at_the_end().all<segments::Counters>();
  ASSERT_THAT(counted, SizeIs(2));
  EXPECT_EQ(counted[0].values, 3u);  // the first, and what is left
  EXPECT_EQ(counted[1].values, 4u);
  EXPECT_EQ(counted[1].passes, 1u);
}

TEST_F(CountedProgram, CountsWhatCachesMatterToInLaunchesThatRunOnce) {
  count(
      "metric m1\nmetric m2\nmetric m3\nmetric m4\nmetric m5\nonce time\nonce dram\n"
      "kernel 2 0 4 1 1 128 1 1 a_kernel\n");
  program->perform("launch 9");
  EXPECT_TRUE(all_counted());
  const auto counted = segment_at_the_end().all<segments::Counters>();
  ASSERT_THAT(counted, SizeIs(4));
  const std::array<std::array<uint32_t, 2>, 4> values_and_passes = {{{5, 2}, {2, 1}, {2, 1}, {5, 2}}};
  for (size_t i = 0; i < counted.size(); ++i) {
    EXPECT_EQ(counted[i].values, values_and_passes[i][0]) << i;
    EXPECT_EQ(counted[i].passes, values_and_passes[i][1]) << i;
  }
}

TEST_F(CountedProgram, CountsEachGroupWithTheTimeWhereMemoryIsTooFull) {
  count(
      "metric time\nmetric m1\nmetric m2\nmetric m3\nmetric m4\nmetric m5\nonce time\nonce dram\n"
      "kernel 3 0 4 1 1 128 1 1 a_kernel\n",
      "", "full");
  program->perform("launch 9");
  EXPECT_TRUE(all_counted());
  const auto counted = segment_at_the_end().all<segments::Counters>();
  ASSERT_THAT(counted, SizeIs(3));
  EXPECT_EQ(counted[1].values, 2u);
  EXPECT_EQ(counted[0].values + counted[2].values, 5u + 2);  // and the time, in both
}

TEST_F(CountedProgram, EndsWhenTheProgramHasGoneOnToOtherKernels) {
  count(std::string(kMetrics) +
        "quiet 300\nkernel 3 0 4 1 1 128 1 1 a_kernel\nkernel 3 0 4 1 1 128 1 1 b_kernel\n");
  program->perform("launch 1");
  EXPECT_TRUE(all_counted());
  ASSERT_TRUE(program->order(Mode::kFinished));
  EXPECT_THAT(segment_at_the_end().notes(), ElementsAre(HasSubstr("no counters of 1 of the 2 kernels")));
}

TEST_F(CountedProgram, LeavesOtherKernelsAndOtherGeometriesAlone) {
  count(std::string(kMetrics) + "kernel 1 0 8 1 1 128 1 1 a_kernel\nkernel 1 0 4 1 1 128 1 1 b_kernel\n");
  program->perform("launch 20");
  ASSERT_TRUE(program->order(Mode::kLeftAlone));
  EXPECT_THAT(segment_at_the_end().all<segments::Counters>(), IsEmpty());
}

TEST_F(CountedProgram, CountsNothingWhileAStreamIsCaptured) {
  count(std::string(kMetrics) + "kernel 1 0 4 1 1 128 1 1 a_kernel\n");
  program->perform("capture");
  ASSERT_TRUE(program->order(Mode::kLeftAlone));
  EXPECT_THAT(segment_at_the_end().all<segments::Counters>(), IsEmpty());
}

TEST_F(CountedProgram, LetsOtherThreadsWaitWhileALaunchIsCounted) {
  count(std::string(kMetrics) + "kernel 50 0 4 1 1 128 1 1 of_a_thread\n");
  program->perform("threads 4");
  EXPECT_TRUE(all_counted());
  EXPECT_THAT(segment_at_the_end().all<segments::Counters>(), SizeIs(50));
}

TEST_F(CountedProgram, SaysThatTheUserMayNotReadCountersAndRunsOn) {
  count(std::string(kMetrics) + "kernel 3 0 4 1 1 128 1 1 a_kernel\n", "no_counters");
  program->perform("launch 9");
  EXPECT_TRUE(all_counted());
  ASSERT_TRUE(program->order(Mode::kTimeline));
  program->perform("launch 4");
  const RawSegment segment = segment_at_the_end();
  EXPECT_THAT(segment.notes(), ElementsAre(HasSubstr("may not read hardware counters")));
  EXPECT_THAT(segment.all<segments::Kernel>(), SizeIs(7));
}

TEST_F(CountedProgram, SaysThatCuptiDoesNotKnowTheChip) {
  count(std::string(kMetrics) + "kernel 3 0 4 1 1 128 1 1 a_kernel\n", "no_profiler");
  EXPECT_TRUE(all_counted());
  EXPECT_THAT(segment_at_the_end().notes(),
              ElementsAre(HasSubstr("no hardware counters: no metric is known")));
}

TEST_F(CountedProgram, CountsNothingWhereNothingIsAsked) {
  count("");
  program->perform("launch 4");
  EXPECT_TRUE(all_counted());
  const RawSegment segment = segment_at_the_end();
  EXPECT_THAT(segment.all<segments::Counters>(), IsEmpty());
  EXPECT_THAT(segment.notes(), IsEmpty());
}

TEST_F(CountedProgram, CountsAgainInAnotherBlock) {
  count(std::string(kMetrics) + "kernel 1 0 4 1 1 128 1 1 a_kernel\n");
  program->perform("launch 2");
  ASSERT_TRUE(program->order(Mode::kLeftAlone));
  ASSERT_TRUE(program->order(Mode::kCounters));
  program->perform("launch 2");
  EXPECT_TRUE(all_counted());
  EXPECT_THAT(segment_at_the_end().all<segments::Counters>(), SizeIs(2));
}

// The source lines that kernels wait at; what is sampled is said in observe/inject/testing/fake_cupti_pc_sampling.cpp.
class SampledProgram : public CountedProgram {
 protected:
  SampledProgram() {
    looks_at_code = "1";
    module = (source_folder() / "src/observe/inject/testing/gather.cubin").string();
  }
  static constexpr const char* kRequest =
      "metric gpu__time_duration.sum\nkernel 1 0 4 1 1 128 1 1 a_kernel\nlines\n";
};

TEST_F(SampledProgram, SamplesLaunchesOnceTheyAreCounted) {
  count(kRequest);
  program->perform("launch 10");
  EXPECT_TRUE(all_counted());
  const RawSegment segment = segment_at_the_end();
  EXPECT_THAT(segment.notes(), IsEmpty());
  EXPECT_THAT(segment.all<segments::Counters>(), SizeIs(1));
  const auto sampled = segment.all<segments::SampledInstruction>();
  ASSERT_THAT(sampled, SizeIs(2));
  EXPECT_EQ(sampled[0].offset, 16u);
  EXPECT_EQ(sampled[0].line, 1u);
  EXPECT_EQ(sampled[0].line_info, segments::LineInfo::kKnown);
  EXPECT_EQ(segment.name(sampled[0].file), "/src/fake.cu");
  EXPECT_EQ(segment.name(sampled[0].function), "a_kernel");
  EXPECT_THAT(sampled[0].grid, ElementsAre(4, 1, 1));
  EXPECT_EQ(sampled[0].reasons, 1u);  // without the second count of the same reason
  EXPECT_EQ(sampled[1].offset, 64u);
}

TEST_F(SampledProgram, SaysWhichCodeHasNoLines) {
  module = folder.path() / "code";
  std::ofstream(module) << "code of a device that says nothing of its source";
  count(kRequest);
  program->perform("launch 10");
  EXPECT_TRUE(all_counted());
  const auto sampled = segment_at_the_end().all<segments::SampledInstruction>();
  ASSERT_THAT(sampled, SizeIs(2));
  EXPECT_EQ(sampled[0].line_info, segments::LineInfo::kNone);
}

TEST_F(SampledProgram, SaysWhichCodeWasLoadedBeforeItLooked) {
  looks_at_code = "0";
  count(kRequest);
  program->perform("launch 10");
  EXPECT_TRUE(all_counted());
  const auto sampled = segment_at_the_end().all<segments::SampledInstruction>();
  ASSERT_THAT(sampled, SizeIs(2));
  EXPECT_EQ(sampled[0].line_info, segments::LineInfo::kCodeUnseen);
  EXPECT_EQ(sampled[0].file, segments::kNoName);
}

TEST_F(SampledProgram, KeepsItsCountersWhereTheDeviceCannotBeSampled) {
  count(kRequest, "no_sampling");
  program->perform("launch 10");
  EXPECT_TRUE(all_counted());
  const RawSegment segment = segment_at_the_end();
  EXPECT_THAT(segment.notes(), ElementsAre(HasSubstr("no source lines of kernels: ")));
  EXPECT_THAT(segment.all<segments::Counters>(), SizeIs(1));
  EXPECT_THAT(segment.all<segments::SampledInstruction>(), IsEmpty());
}

TEST_F(SampledProgram, SaysThatNothingWasFoundRatherThanTryForLong) {
  count(kRequest, "no_samples");
  program->perform("launch 20");
  EXPECT_TRUE(all_counted());
  const RawSegment segment = segment_at_the_end();
  EXPECT_THAT(segment.notes(), ElementsAre(HasSubstr("sampled 10 launches and found no warp")));
  EXPECT_THAT(segment.all<segments::Counters>(), SizeIs(1));
}

TEST_F(SampledProgram, WritesWhatItHasWhenTheBlockEnds) {
  count(kRequest);
  program->perform("launch 2");
  ASSERT_TRUE(program->order(Mode::kLeftAlone));
  const auto sampled = segment_at_the_end().all<segments::SampledInstruction>();
  EXPECT_THAT(sampled, SizeIs(2));
}

TEST_F(SampledProgram, WritesWhatItHasWhenTheProgramEnds) {
  count(kRequest);
  program->perform("launch 2");
  EXPECT_THAT(segment_at_the_end().all<segments::SampledInstruction>(), SizeIs(2));
}

TEST_F(SampledProgram, CountsAndSamplesAgainInAnotherBlock) {
  count(kRequest);
  program->perform("launch 10");
  EXPECT_TRUE(all_counted());
  ASSERT_TRUE(program->order(Mode::kCounters));
  program->perform("launch 10");
  EXPECT_TRUE(all_counted());
  const RawSegment segment = segment_at_the_end();
  EXPECT_THAT(segment.notes(), IsEmpty());
  EXPECT_THAT(segment.all<segments::Counters>(), SizeIs(2));
  EXPECT_THAT(segment.all<segments::SampledInstruction>(), SizeIs(4));
}

}  // namespace
}  // namespace hone::observe::testing
