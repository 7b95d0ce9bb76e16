// However long a step takes, a request to end is heard: within two seconds, with the signal's status, leaving
// nothing half written. What timeout(1), a terminal and a container that is being stopped do.
#include <chrono>
#include <filesystem>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <gtest/gtest.h>

namespace hone::testing_support {
namespace {

using Clock = std::chrono::steady_clock;

class Signals : public ::testing::Test {
 protected:
  void SetUp() override { options.environment["XDG_CACHE_HOME"] = (folder / "cache").string(); }
  std::string path(const std::string& name) const { return (folder / name).string(); }
  // hone with a timer beside it that sends `signals` ("INT", "TERM"), a second after the start and a half
  // apart.
  ProgramResult interrupt(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& signals) const {
    std::string timer = "sleep 1", command = hone_program().string();
    for (const std::string& signal : signals) timer += "; kill -" + signal + " $$; sleep 0.5";
    for (const std::string& argument : arguments) command += " '" + argument + "'";
    // A shell's background jobs ignore SIGINT, and hand that down; so the timer runs behind, and hone in
    // front.
    return run_program("/bin/bash", {"-c", "(" + timer + ") 2>/dev/null & exec " + command}, options);
  }

  TemporaryFolder folder;
  RunOptions options;
};

TEST_F(Signals, EndAStepThatTakesHours) {
  write_endless_network(folder / "slow.onnx");
  write_f32_npy(folder / "x.npy", {1}, 1);
  for (const auto& [signal, status] : std::map<std::string, int>{{"TERM", 143}, {"INT", 130}}) {
    const auto start = Clock::now();
    const ProgramResult result = interrupt(
        {"run", path("slow.onnx"), "--input", "x=" + path("x.npy"), "--out", path("out")}, {signal});
    EXPECT_EQ(result.exit_code, status) << result.err;
    EXPECT_NE(result.err.find("interrupted"), std::string::npos) << result.err;
    EXPECT_LT(Clock::now() - start, std::chrono::seconds(6)) << signal << ": a second to start, two to end";
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  }
}

TEST_F(Signals, ASecondRequestDoesNotWait) {
  write_endless_network(folder / "slow.onnx");
  write_f32_npy(folder / "x.npy", {1}, 1);
  const ProgramResult result = interrupt(
      {"run", path("slow.onnx"), "--input", "x=" + path("x.npy"), "--out", path("out")}, {"TERM", "TERM"});
  EXPECT_EQ(result.exit_code, 143) << result.err;
}

TEST_F(Signals, TwoInTheSameMomentAreOneRequest) {
  write_small_network(folder / "small.onnx");
  // As timeout(1) sends them: what can stop cleanly does, and says what it left.
  const ProgramResult result = run_program(
      "/bin/bash",
      {"-c", "(sleep 1; kill -TERM $$; kill -TERM $$) & exec " + hone_program().string() + " bench " +
                 path("small.onnx") + " --batch 512 --budget 30 --json " + path("bench.json")},
      options);
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "bench.json"));
}

TEST_F(Signals, LeaveNoUnfinishedFile) {
  write_endless_network(folder / "slow.onnx");
  (void)interrupt({"optimize", path("slow.onnx"), "-o", path("o.onnx")}, {"TERM"});
  for (const std::string& name : folder.names()) EXPECT_EQ(name.find(".tmp-"), std::string::npos) << name;
}

}  // namespace
}  // namespace hone::testing_support
