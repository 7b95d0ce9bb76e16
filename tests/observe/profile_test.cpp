// hone profile with programs that have nothing to record: whatever they do, it is as if they had been started by
// themselves, and one line says why there is no report.
#include <filesystem>
#include <fstream>

#include "tests/cli/run_program.h"
#include <gtest/gtest.h>

namespace hone::testing_support {
namespace {

namespace fs = std::filesystem;

class ProfileOfAnyProgram : public ::testing::Test {
 protected:
  // In a folder of the test, where the run folder appears.
  ProgramResult profile(std::vector<std::string> command, std::vector<std::string> options = {},
                        RunOptions run = {}) const {
    run.folder = folder.path();
    options.insert(options.begin(), "profile");
    options.push_back("--");
    options.insert(options.end(), command.begin(), command.end());
    return run_hone(options, run);
  }
  ProgramResult profile_shell(const std::string& script, std::vector<std::string> options = {}) const {
    return profile({"sh", "-c", script}, std::move(options));
  }

  TemporaryFolder folder;
};

TEST_F(ProfileOfAnyProgram, KeepsOutputAndExitStatusOfTheProgram) {
  const ProgramResult result = profile_shell("echo to out; echo to err >&2; exit 7");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.out, "to out\n");
  EXPECT_NE(result.err.find("to err\n"), std::string::npos);
  EXPECT_NE(result.err.find("nothing was recorded"), std::string::npos) << result.err;
}

TEST_F(ProfileOfAnyProgram, SaysWhereTheRunFolderIs) {
  const ProgramResult result = profile_shell("ls");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.starts_with("hone-profile-")) << result.out;
  EXPECT_NE(result.err.find(result.out.substr(0, result.out.find('\n'))), std::string::npos) << result.err;
}

TEST_F(ProfileOfAnyProgram, LeavesNoFolderInTheWayOfTheNextRunWhereNothingWasRecorded) {
  fs::create_directories(folder / "there");
  for (int run = 0; run < 2; ++run)
    for (const char* out : {"new", "there"})
      EXPECT_EQ(profile_shell("exit 0", {"--out", out}).exit_code, 0) << out;
  EXPECT_EQ(folder.names(), std::vector<std::string>{"there"});
}

TEST_F(ProfileOfAnyProgram, HandsItsInputOver) {
  RunOptions run;
  run.input = "from the user\n";
  const ProgramResult result = profile({"cat"}, {}, run);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "from the user\n");
}

TEST_F(ProfileOfAnyProgram, HandsItsOwnOptionsOver) {
  const ProgramResult result = profile({"sh", "-c", "echo \"$@\"", "x", "--out", "--json", "", "-h"});
  EXPECT_EQ(result.out, "--out --json  -h\n") << result.err;
}

TEST_F(ProfileOfAnyProgram, IsSilentItselfIfAskedTo) {
  const ProgramResult result = profile_shell("echo to out", {"--quiet"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "to out\n");
}

// As a program on OpenVINO would, in whose environment hone has switched oneDNN's stream on.
TEST_F(ProfileOfAnyProgram, ExplainsWhatOneDnnSaysAndKeepsTheOutputOfTheProgram) {
  std::ofstream(folder.path() / "roofs.json") << R"({"machine": "m", "threads": 1,
             "compute": [{"dtype": "f32", "method": "fma", "threads": 1, "flops_per_s": {"median": 1e11, "low": 9e10, "high": 2e11}}],
             "memory": [{"level": "DRAM", "operation": "copy", "threads": 1, "capacity_bytes": 0,
                         "bytes_per_s": {"median": 2e10, "low": 1e10, "high": 3e10}}],
             "barrier_s": {"median": 1e-6, "low": 1e-6, "high": 1e-6},
             "thread_start_s": {"median": 1e-5, "low": 1e-5, "high": 1e-5}})";
  const ProgramResult result = profile_shell(
      R"(i=100; while [ $i -lt 140 ]; do
           [ "$ONEDNN_VERBOSE" = 1 ] || exit 9
           printf 'batch %d' $i
           echo "onednn_verbose,v1,1795439633$i.5,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0 dst:f32::blocked:acdb::f0,,,1x3x64x64,0.1"
           echo "onednn_verbose,v1,1795439633$i.7,primitive,exec,cpu,convolution,brg:avx2,forward_inference,src:f32::blocked:acdb::f0 wei:f32::blocked:AcdB8a::f0 bia:undef::undef::: dst:f32::blocked:acdb::f0,,alg:convolution_direct,mb1_ic3oc32_ih64oh64kh3sh1dh0ph1_iw64ow64kw3sw1dw0pw1,0.2"
           echo; i=$((i + 1)); done)",
      {"--onednn", "--out", "run", "--roofs", "roofs.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::string own;
  for (int i = 100; i < 140; ++i) own += "batch " + std::to_string(i) + "\n";
  EXPECT_EQ(result.out, own);
  EXPECT_TRUE(fs::exists(folder.path() / "run/explain.html")) << result.err;
  EXPECT_NE(result.err.find("convolution"), std::string::npos) << result.err;
}

// A program without PyTorch and without a GPU, which is looked at from outside.
TEST_F(ProfileOfAnyProgram, NamesTheHottestLinesWhereThereIsNothingToRecord) {
  std::ofstream(folder.path() / "sums.py") << "import time\n"
                                              "def add_up(end):\n"
                                              "  total = 0\n"
                                              "  while time.time() < end:\n"
                                              "    total += 1\n"
                                              "  return total\n"
                                              "print(add_up(time.time() + 1.3) > 0)\n";
  const ProgramResult result = profile({"python3", "sums.py"}, {"--wait", "0.1", "--out", "run"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "True\n");
  EXPECT_NE(result.err.find("add_up (sums.py:"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("CPUs kept busy"), std::string::npos) << result.err;
  EXPECT_TRUE(fs::exists(folder / "run/hot_lines.txt"));
  EXPECT_FALSE(fs::exists(folder / "run/unrecorded"));
}

TEST_F(ProfileOfAnyProgram, SaysThatThereWereNoKernelsToStudy) {
  const ProgramResult result = profile_shell("exit 0", {"--kernel", "gemm"});
  EXPECT_NE(result.err.find("used no GPU"), std::string::npos) << result.err;
}

TEST_F(ProfileOfAnyProgram, EndsAsTheProgramDoesBySignals) {
  EXPECT_EQ(profile_shell("kill -SEGV $$").exit_code, 139);
  EXPECT_EQ(profile_shell("kill -KILL $$").exit_code, 137);
  // The terminal's Ctrl-C reaches it, as no signal is blocked there.
  EXPECT_EQ(profile_shell("kill -INT $$; echo survived").exit_code, 130);
}

TEST_F(ProfileOfAnyProgram, PassesOnARequestToEnd) {
  const ProgramResult result =
      profile_shell("trap 'echo heard; exit 3' TERM; kill -TERM $PPID; sleep 5 >/dev/null 2>&1 & wait");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "heard\n");
}

TEST_F(ProfileOfAnyProgram, KeepsTheStatusOfAProgramThatRemovesTheRunFolder) {
  EXPECT_EQ(profile_shell("rm -r run; exit 5", {"--out", "run"}).exit_code, 5);
  EXPECT_EQ(profile_shell("rm -r run; echo x > run; exit 5", {"--out", "run"}).exit_code, 5);
}

// As timeout(1) and supervisors send it: the program has it already.
TEST_F(ProfileOfAnyProgram, PassesOnNoRequestThatTheWholeGroupGets) {
  const ProgramResult result = profile_shell(
      "trap 'echo heard' TERM; kill -TERM 0; i=0; while [ $i -lt 40 ]; do sleep 0.01; i=$((i + 1)); done; "
      "exit 4");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.out, "heard\n");
}

TEST_F(ProfileOfAnyProgram, LetsTheProgramGoOnWhereHoneIsKilled) {
  const ProgramResult result = profile_shell("kill -KILL $PPID; sleep 0.3; echo goes on");
  EXPECT_EQ(result.exit_code, 137);
  EXPECT_EQ(result.out, "goes on\n");
}

TEST_F(ProfileOfAnyProgram, SaysWhyAProgramCannotBeStarted) {
  const ProgramResult missing = profile({"no-such-program"});
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_EQ(missing.err, "hone: cannot start 'no-such-program': there is no such program\n");
  EXPECT_EQ(profile({"/"}).exit_code, 126);
  EXPECT_TRUE(folder.names().empty());
}

TEST_F(ProfileOfAnyProgram, IsNotStartedWithoutAFolderToRecordInto) {
  std::ofstream(folder / "file") << "x";
  const auto refused = [&](const std::string& out) {
    const ProgramResult result = profile_shell("echo started", {"--out", out});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    return is_one_line_error(result, {"--out", out});
  };
  EXPECT_TRUE(refused("file"));
  EXPECT_TRUE(refused("file/below"));
  EXPECT_TRUE(refused("/dev/null/below"));
  fs::create_directories(folder / "used");
  std::ofstream(folder / "used" / "file") << "x";
  EXPECT_TRUE(refused("used"));
}

TEST_F(ProfileOfAnyProgram, IsNotStartedWhereTheDiskIsFull) {
  RunOptions run;
  run.largest_file = 4096;
  const ProgramResult result = profile({"sh", "-c", "echo started"}, {}, run);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(is_one_line_error(result, {"control"}));
}

// As time, nsys and py-spy do: a program's --steps is not taken from it in silence.
TEST_F(ProfileOfAnyProgram, LeavesAProgramTheOptionsAfterItsName) {
  RunOptions run;
  run.folder = folder.path();
  const std::vector<std::string> program = {"sh", "-c", "echo \"got $*\"", "sh", "--steps", "300", "--out=x"};
  for (const std::vector<std::string>& own : {std::vector<std::string>{}, {"--"}}) {
    std::vector<std::string> words = {"profile", "--out", "run" + std::to_string(own.size()), "--steps=6"};
    words.insert(words.end(), own.begin(), own.end());
    words.insert(words.end(), program.begin(), program.end());
    EXPECT_THAT(run_hone(words, run).out, testing::HasSubstr("got --steps 300 --out=x\n"));
  }
  EXPECT_TRUE(is_one_line_error(run_hone({"profile", "--step", "3", "ls"}, run), {"did you mean '--steps'"}));
}

TEST_F(ProfileOfAnyProgram, NeedsAProgram) {
  const ProgramResult result = profile({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(is_one_line_error(result, {"PROGRAM"}));
}

}  // namespace
}  // namespace hone::testing_support
