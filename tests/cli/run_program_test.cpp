// The harness itself: what it catches, and that nothing it starts can hang or fool a test.
#include "tests/cli/run_program.h"

#include <gtest/gtest.h>

namespace hone::testing_support {
namespace {

ProgramResult shell(const std::string& script, const RunOptions& options = {}) {
  return run_program("/bin/sh", {"-c", script}, options);
}

TEST(RunProgram, CatchesOutputAndExitCode) {
  const ProgramResult result = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_FALSE(result.timed_out);
}

TEST(RunProgram, LargeOutputOnBothPipesDoesNotBlock) {
  const ProgramResult result = shell("head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2");
  EXPECT_EQ(result.out.size(), 1'000'000u);
  EXPECT_EQ(result.err.size(), 1'000'000u);
}

TEST(RunProgram, ATimeLimitEndsItAndItsChildren) {
  RunOptions options;
  options.time_limit = std::chrono::seconds(1);
  const auto start = std::chrono::steady_clock::now();
  const ProgramResult result = shell("sleep 60 & sleep 60", options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(RunProgram, SignalsAndMissingProgramsShow) {
  EXPECT_EQ(shell("kill -SEGV $$").exit_code, 128 + 11);
  EXPECT_EQ(run_program("/no/such/program", {}).exit_code, 127);
}

TEST(RunProgram, OptionsReachTheProgram) {
  const TemporaryFolder folder;
  RunOptions options;
  options.folder = folder.path();
  options.environment = {{"HONE_TEST", "value"}};
  options.input = "from stdin";
  options.largest_file = 1000;
  const ProgramResult result = shell("pwd; echo $HONE_TEST; cat; head -c 5000 /dev/zero > big", options);
  EXPECT_EQ(result.out, folder.path().string() + "\nvalue\nfrom stdin");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_EQ(std::filesystem::file_size(folder / "big"), 1000u);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"big"}));
}

TEST(RunProgram, KnowsAOneLineErrorFromOthers) {
  EXPECT_TRUE(is_one_line_error(shell("echo 'x.onnx: bad' >&2; exit 1"), {"x.onnx"}));
  EXPECT_FALSE(is_one_line_error(shell("echo 'x.onnx: bad' >&2; exit 1"), {"y.onnx"}));
  EXPECT_FALSE(is_one_line_error(shell("echo a >&2; echo b >&2; exit 1")));
  EXPECT_FALSE(is_one_line_error(shell("echo a >&2")));
  EXPECT_FALSE(is_one_line_error(shell("echo a >&2; kill -ABRT $$")));
  EXPECT_FALSE(is_one_line_error(shell("exit 1")));
}

}  // namespace
}  // namespace hone::testing_support
