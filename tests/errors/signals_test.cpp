// However long a step takes, a request to end is heard: within two seconds, with the signal's status, leaving
// nothing half written. What timeout(1), a terminal and a container that is being stopped do.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <sstream>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

TEST_F(Signals, ALabThatEndsEarlyLeavesNoEmptyFolder) {
  write_long_network(folder / "long.onnx");
  const ProgramResult result =
      interrupt({"lab", path("long.onnx"), "--out", path("lab"), "--budget", "120"}, {"TERM"});
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_TRUE(!std::filesystem::exists(folder / "lab") || !std::filesystem::is_empty(folder / "lab"))
      << "either nothing or a report";
}

TEST_F(Signals, WorkThatEndsSoonAfterTheRequestWritesNothing) {
  write_small_network(folder / "small.onnx");
  write_f32_npy(folder / "x.npy", {1, 3, 8, 8}, 1);
  // The model comes when the request has: the run itself then takes no time.
  const ProgramResult result = run_program(
      "/bin/bash",
      {"-c", "exec " + hone_program().string() + " run - --input x=" + path("x.npy") + " --out " +
                 path("out") + " < <(sleep 0.5; kill -TERM $$; sleep 0.2; cat " + path("small.onnx") + ")"},
      options);
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST_F(Signals, EndAnExplanationWhoseRecordingNeverEnds) {
  const auto start = Clock::now();
  const ProgramResult result = run_program("/bin/bash",
                                           {"-c", "exec " + hone_program().string() +
                                                      " explain <(exec 2>/dev/null; echo '{\"traceEvents\": "
                                                      "['; sleep 0.5; kill -TERM $$; exec sleep 4)"},
                                           options);
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(4));
}

TEST_F(Signals, ACrashSaysWhereItWas) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer says it";
#endif
  write_small_network(folder / "small.onnx");
  for (const std::string signal : {"SEGV", "ABRT", "FPE"}) {
    const ProgramResult result =
        run_program("/bin/bash",
                    {"-c", "(sleep 1; kill -" + signal + " $$) & exec " + hone_program().string() +
                               " bench " + path("small.onnx") + " --batch 512 --budget 30"},
                    options);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.err.find("hone: crashed (SIG" + signal + ")"), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("hone(+0x"), std::string::npos) << result.err;
  }
}

// A lab that has measured its baseline and tries passes: what it knows by then is a report.
class InterruptedLab : public Signals {
 protected:
  // Interrupts a long lab by `signals`, shell text, when its third group of passes is tried. `output`: where that goes.
  ProgramResult interrupt_lab(const std::string& signals, const std::string& output = "") const {
    write_long_network(folder / "long.onnx");
    give_roofs(options);
    const std::string script = fmt::format(
        "rm -f {}; {} lab {} --out {} --budget 60 {} 2> {} & hone=$!; trap 'kill -KILL $hone' EXIT; "
        "until grep -Eqs '^hone lab: (3[5-9]|[4-6][0-9]) %' {}; do sleep 0.05; done; date +%s%N > {}; "
        "{}; trap - EXIT; wait $hone; status=$?; date +%s%N > {}; cat {} >&2; exit $status",
        path("said"), hone_program().string(), path("long.onnx"), path("lab"), output, path("said"),
        path("said"), path("before"), signals, path("after"), path("said"));
    RunOptions limits = options;
    limits.time_limit = std::chrono::seconds(180);
    // A shell's background jobs ignore SIGINT, unless it controls jobs.
    return run_program("/bin/bash", {"-mc", script}, limits);
  }
  double seconds_to_end() const {
    return (std::stod(read_text(folder / "after")) - std::stod(read_text(folder / "before"))) * 1e-9;
  }
  void expect_partial_report(const ProgramResult& result) const {
    EXPECT_NE(result.err.find("hone: interrupted; the report in " + path("lab") + " is partial"),
              std::string::npos)
        << result.err;
    EXPECT_LT(seconds_to_end(), 2);
    const auto report = nlohmann::json::parse(read_text(folder / "lab/report.json"));
    EXPECT_FALSE(report["interrupted"].get<std::string>().empty());
    EXPECT_TRUE(report["result"].is_null());
    EXPECT_GT(report["baseline"]["step_ms"]["median"].get<double>(), 0);
    EXPECT_FALSE(report["baseline"]["ledger"].empty());
    EXPECT_FALSE(report["passes"].empty());
    const std::string page = read_text(folder / "lab/report.html");
    EXPECT_TRUE(page.starts_with("<!DOCTYPE html>") || page.starts_with("<!doctype html>"))
        << page.substr(0, 40);
    EXPECT_NE(page.find("Interrupted: a partial report."), std::string::npos);
    EXPECT_NE(page.find("</html>"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder / "lab/optimised.onnx")) << "it was not measured as a whole";
    EXPECT_TRUE(std::filesystem::exists(folder / "lab/baseline/trace.pftrace"));
  }
};

TEST_F(InterruptedLab, LeavesAPartialReport) {
  const ProgramResult result = interrupt_lab("kill -INT $hone");
  EXPECT_EQ(result.exit_code, 130) << result.err;
  expect_partial_report(result);
}

// oneDNN's generated matrix products point the stack's register into the heap while they compute: a handler
// that interrupts one writes its frame over what lies there, and the program dies of it much later.
TEST_F(InterruptedLab, LeavesAPartialReportAndNoThreadHandlesTheRequestWhereItComputes) {
  const ProgramResult result = interrupt_lab("grep -hE '^Sig(Blk|Cgt)' /proc/$hone/task/*/status > " +
                                             path("masks") + "; kill -TERM $hone");
  EXPECT_EQ(result.exit_code, 143) << result.err;
  expect_partial_report(result);
  constexpr uint64_t kRequests = (1u << (SIGINT - 1)) | (1u << (SIGTERM - 1));
  std::istringstream lines(read_text(folder / "masks"));
  std::string name, mask;
  int blocking = 0, waiting = 0;
  while (lines >> name >> mask) {
    const bool has = (std::stoull(mask, nullptr, 16) & kRequests) != 0;
    if (name == "SigBlk:") ++(has ? blocking : waiting);
    if (name != "SigCgt:") continue;
    EXPECT_FALSE(has) << "a handler: " << mask;
  }
  EXPECT_EQ(waiting, 1) << "the thread that does nothing else";
  EXPECT_GE(blocking, 1) << "those that compute";
}

TEST_F(InterruptedLab, TwiceInOneMomentIsOneRequest) {
  const ProgramResult result = interrupt_lab("kill -TERM $hone; kill -TERM $hone");
  EXPECT_EQ(result.exit_code, 143) << result.err;
  expect_partial_report(result);
}

// As with Ctrl-C of a pipeline, which ends whoever reads, too.
TEST_F(InterruptedLab, KeepsItsStatusWhereNobodyTakesTheOutputAnyMore) {
  const ProgramResult result = interrupt_lab("kill -INT $hone", "> /dev/full");
  EXPECT_EQ(result.exit_code, 130) << result.err;
}

TEST_F(InterruptedLab, ASecondRequestEndsItAtOnceAndLeavesNoHalfFile) {
  const ProgramResult result = interrupt_lab("kill -INT $hone; sleep 0.3; kill -INT $hone 2>/dev/null");
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_LT(seconds_to_end(), 2);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    EXPECT_EQ(entry.path().filename().string().find(".tmp-"), std::string::npos) << entry.path();
}

TEST_F(Signals, LeaveNoUnfinishedFile) {
  write_endless_network(folder / "slow.onnx");
  (void)interrupt({"optimize", path("slow.onnx"), "-o", path("o.onnx")}, {"TERM"});
  for (const std::string& name : folder.names()) EXPECT_EQ(name.find(".tmp-"), std::string::npos) << name;
}

}  // namespace
}  // namespace hone::testing_support
