// hone profile with programs that drive a device, over the CUDA of observe/inject/testing, which computes nothing: from
// the first launch to the report.
#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/testing/source_folder.h"
#include "trace/import/import.h"

namespace hone::testing_support {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class ProfileOfDevicePrograms : public ::testing::Test {
 protected:
  // What the program is to do, a line each (program.cpp); `cupti` is how the fake CUPTI behaves.
  ProgramResult profile(const std::string& lines, const std::string& cupti = "",
                        const std::vector<std::string>& more = {}) const {
    RunOptions run;
    run.folder = folder.path();
    run.input = lines;
    run.environment["LD_LIBRARY_PATH"] = (build_folder() / "fake_cuda").string();
    run.environment["HONE_OBSERVE_CUPTI"] = (build_folder() / "fake_cuda/libcupti.so.13").string();
    run.environment["FAKE_CUPTI"] = cupti;
    std::vector<std::string> words = {"profile", "--out", "run", "--wait", "0.2", "--steps", "6"};
    words.insert(words.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--sampling") == more.end())
      words.insert(words.end(), {"--sampling", "off"});
    words.insert(words.end(), {"--", (build_folder() / "fake_cuda/fake_cuda_program").string()});
    return run_hone(words, run);
  }
  json explained() const {
    const Result<std::string> text = read_file(folder / "run/explain.json");
    return text.ok() ? json::parse(*text) : json();
  }

  TemporaryFolder folder;
};

TEST_F(ProfileOfDevicePrograms, ExplainsATrainingByItsOperators) {
  const ProgramResult result = profile("init\nsteps 4500\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "ok\nok\n");
  const json found = explained();
  ASSERT_FALSE(found.is_null()) << result.err;
  EXPECT_GT(found["step"]["median_ms"], 0.6);
  ASSERT_GE(found["top"].size(), 2u) << result.err;
  EXPECT_EQ(found["top"][0]["op"], "aten::mm");
  EXPECT_EQ(found["step"]["unrecorded_measured"], true);
}

// What the fake CUPTI samples is as large as the metric's name is long.
TEST_F(ProfileOfDevicePrograms, TellsWhatItsDevicesDoOverAStep) {
  const ProgramResult result = profile("init\nsteps 5000\n", "", {"--sampling", "auto"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json found = explained();
  ASSERT_FALSE(found.is_null()) << result.err;
  ASSERT_EQ(found["sampled"].size(), 1u) << result.err;
  EXPECT_GT(found["sampled"][0]["samples"], 1000);
  EXPECT_GT(found["sampled"][0]["steps"], 100);
  for (const json& target : found["targets"])
    if (target["name"] == "sm_active_share") {
      EXPECT_EQ(target["measured"], true);
      EXPECT_NEAR(target["value"].get<double>(), 51, 0.01);
    }
  EXPECT_THAT(result.err, HasSubstr("multiprocessors active (measured)"));
}

TEST_F(ProfileOfDevicePrograms, ExplainsANativeProgramByItsLaunches) {
  const ProgramResult result = profile("init\nplain 3500\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json found = explained();
  ASSERT_FALSE(found.is_null()) << result.err;
  EXPECT_GT(found["step"]["median_ms"], 0.7);
  EXPECT_THAT(result.err, HasSubstr("The 4 kernels that take the most time"));
  EXPECT_THAT(result.err, HasSubstr("tells of no operators"));
  EXPECT_THAT(result.err, Not(HasSubstr("could not be traced back")));
  EXPECT_THAT(found["step"]["how_found"].get<std::string>(), HasSubstr("cudaDeviceSynchronize"));
}

// Launches are all alike: only the waits tell steps.
TEST_F(ProfileOfDevicePrograms, TellsStepsOfAChainByItsWaits) {
  const ProgramResult result = profile("init\nchain 2500\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json found = explained();
  ASSERT_FALSE(found.is_null()) << result.err;
  EXPECT_GT(found["step"]["median_ms"], 20 * 0.05);
  EXPECT_THAT(found["step"]["how_found"].get<std::string>(), HasSubstr("cudaDeviceSynchronize"));
  EXPECT_EQ(found["step"]["unrecorded_measured"], true) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the program marks no steps itself"));
}

TEST_F(ProfileOfDevicePrograms, SaysThatNothingTellsStepsOfLaunchesThatAreAllAlike) {
  const ProgramResult result = profile("init\nalike 4000\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json found = explained();
  ASSERT_FALSE(found.is_null()) << result.err;
  EXPECT_THAT(found["step"]["how_found"].get<std::string>(), HasSubstr("nothing tells how many are a step"));
}

TEST_F(ProfileOfDevicePrograms, TakesRangesOfTheProgramForSteps) {
  const ProgramResult result = profile("init\nranged 2500\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json found = explained();
  ASSERT_FALSE(found.is_null()) << result.err;
  EXPECT_THAT(found["step"]["how_found"].get<std::string>(),
              HasSubstr("an NVTX range of the program (batch #)"));
  EXPECT_EQ(found["step"]["unrecorded_measured"], true) << result.err;
  EXPECT_GT(found["step"]["unrecorded_ms"]["median"], 20 * 0.05);
}

TEST_F(ProfileOfDevicePrograms, CountsAsManyOfTheKernelsThatTakeMostTimeAsItNames) {
  const ProgramResult result = profile("init\nsteps 5000\n", "", {"--top", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::array<fs::path, 1> paths = {folder / "run"};
  const Result<trace::Trace> trace = trace::import_trace(paths);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto launches = [&](const std::string& kernel, bool once) {
    return std::count_if(
        trace->counters.begin(), trace->counters.end(), [&](const trace::KernelCounters& row) {
          const bool has_bytes = trace::counter_value(row, trace->strings, "dram__bytes_read.sum") == 20;
          return trace->strings.text(row.kernel) == kernel && (row.passes == 1) == once &&
                 has_bytes == once && row.registers == 32;
        });
  };
  EXPECT_EQ(trace->counters.size(), 6u) << result.err;
  EXPECT_EQ(launches("gemm", true), 3);  // what caches matter to, as the program runs it
  EXPECT_EQ(launches("gemm", false), 3);
}

TEST_F(ProfileOfDevicePrograms, StudiesTheKernelsThatAreNamed) {
  const ProgramResult result = profile("init\nsteps 5000\n", "", {"--kernel", "^ge", "--hot-lines", "on"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json found = explained();
  ASSERT_EQ(found["counted_kernels"].size(), 1u) << result.err;
  const json& kernel = found["counted_kernels"][0];
  EXPECT_EQ(kernel["full_name"], "gemm");
  EXPECT_EQ(kernel["launches"], 15);  // five for each of three groups
  EXPECT_GT(kernel["step_ms"], 0);
  EXPECT_GT(kernel["figures"].size(), 30u);
  EXPECT_THAT(result.err, HasSubstr("Kernels under the counters"));
  EXPECT_EQ(kernel["line_info"], "code unseen");  // nothing told of its being loaded
  EXPECT_THAT(result.err, HasSubstr("gemm + 0x10  waiting for data from global or local memory"));
}

TEST_F(ProfileOfDevicePrograms, NamesTheLinesOfCodeThatItHasSeen) {
  const std::string code = (source_folder() / "src/observe/inject/testing/gather.cubin").string();
  const ProgramResult result =
      profile("init\nmodule " + code + "\nsteps 5000\n", "", {"--kernel", "^ge", "--hot-lines", "on"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json found = explained();
  ASSERT_EQ(found["counted_kernels"].size(), 1u) << result.err;
  const json& kernel = found["counted_kernels"][0];
  EXPECT_EQ(kernel["line_info"], "known");
  ASSERT_EQ(kernel["lines"].size(), 2u);
  EXPECT_EQ(kernel["lines"][0]["file"], "/src/fake.cu");
  EXPECT_EQ(kernel["lines"][0]["line"], 1);
  EXPECT_EQ(kernel["lines"][0]["share"], 0.75);
  EXPECT_THAT(result.err, HasSubstr("fake.cu:1  waiting for data from global or local memory"));
}

TEST_F(ProfileOfDevicePrograms, RefusesNamesOfKernelsThatAreNoPattern) {
  EXPECT_EQ(profile("init\n", "", {"--kernel", "gemm("}).exit_code, 2);
  EXPECT_EQ(profile("init\n", "", {"--kernel", "gemm", "--counters", "off"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder / "run"));
}

TEST_F(ProfileOfDevicePrograms, SaysWhyNothingWasCounted) {
  const ProgramResult result = profile("init\nsteps 5000\n", "no_counters");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(explained().is_null()) << result.err;
  EXPECT_THAT(result.err, HasSubstr("this user may not read"));
}

TEST_F(ProfileOfDevicePrograms, ExplainsWhatACrashLeaves) {
  const ProgramResult result = profile("init\nsteps 5000\ncrash\n");
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
  EXPECT_FALSE(explained().is_null()) << result.err;
}

TEST_F(ProfileOfDevicePrograms, ExplainsWhatACrashWhileKernelsAreCountedLeaves) {
  const ProgramResult result = profile("init\nsteps 5000\n", "crashes_counting", {"--counters", "auto"});
  EXPECT_EQ(result.exit_code, 128 + SIGSEGV);
  const json found = explained();
  ASSERT_FALSE(found.is_null()) << result.err;
  EXPECT_EQ(found["top"][0]["op"], "aten::mm");
}

TEST_F(ProfileOfDevicePrograms, SaysThatAnotherProfilerHasCupti) {
  const ProgramResult result = profile("init\nsteps 4500\n", "taken");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "ok\nok\n");
  EXPECT_THAT(result.err, HasSubstr("own profiler has CUPTI"));
}

}  // namespace
}  // namespace hone::testing_support
