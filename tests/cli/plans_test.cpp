// Saved plans as a user meets them: made, run, measured, shown, refused, damaged.
#include <cstring>
#include <filesystem>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hone::testing_support {
namespace {

using nlohmann::json;

class Plans : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    write_small_network(folder_ / "small.onnx");
    write_f32_npy(folder_ / "x.npy", {2, 3, 8, 8}, 0.5F);
    options_.environment["XDG_CACHE_HOME"] = (folder_ / "cache").string();
    make(model_, {"--bind", "batch=2"});
  }
  ProgramResult hone(const std::vector<std::string>& arguments) const {
    return run_hone(arguments, options_);
  }
  void make(const std::string& model, const std::vector<std::string>& more) const {
    std::vector<std::string> line = {"optimize", model,      "-o",        plan_,
                                     "--device", GetParam(), "--threads", "1"};
    line.insert(line.end(), more.begin(), more.end());
    const ProgramResult made = hone(line);
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  std::vector<std::string> run_line(const std::string& what, const std::string& out) const {
    return {"run", what, "--input", "x=" + (folder_ / "x.npy").string(), "--out", (folder_ / out).string()};
  }

  TemporaryFolder folder_;
  std::string model_ = (folder_ / "small.onnx").string(), plan_ = (folder_ / "small.plan").string();
  RunOptions options_;
};

TEST_P(Plans, GiveTheNumbersOfTheirModel) {
  ASSERT_EQ(hone(run_line(plan_, "by_plan")).exit_code, 0);
  std::vector<std::string> line = run_line(model_, "by_model");
  line.insert(line.end(), {"--device", GetParam()});
  ASSERT_EQ(hone(line).exit_code, 0);
  const std::string by_plan = read_text(folder_ / "by_plan/y.npy"),
                    by_model = read_text(folder_ / "by_model/y.npy");
  ASSERT_EQ(by_plan.size(), by_model.size());
  for (std::size_t at = by_plan.size() - 2 * 4 * 8 * 8 * sizeof(float); at < by_plan.size();
       at += sizeof(float)) {
    float a = 0, b = 0;
    std::memcpy(&a, &by_plan[at], sizeof a);
    std::memcpy(&b, &by_model[at], sizeof b);
    ASSERT_NEAR(a, b, 1e-4);
  }
}

TEST_P(Plans, AreMeasuredByBenchAsTheyAre) {
  const std::string out = (folder_ / "bench.json").string();
  const ProgramResult result = hone({"bench", plan_, "--budget", "0.1", "--json", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("loaded in "), std::string::npos) << result.out;
  const json found = json::parse(read_text(out));
  EXPECT_EQ(found["device"], GetParam());
  EXPECT_EQ(found["threads"], 1);
  EXPECT_EQ(found["batch"], 2);
  EXPECT_GT(found["load_ms"], 0);
  EXPECT_LT(found["load_ms"], 5000);
  RunOptions asked = options_;
  asked.input = "3\n";
  const ProgramResult answered = run_hone({"bench", plan_, "--on-request"}, asked);
  EXPECT_EQ(answered.exit_code, 0) << answered.err;
  EXPECT_TRUE(answered.out.starts_with("ready\n")) << answered.out;
}

TEST_P(Plans, ShowWhatTheyAreForAndTheKernelOfEachNode) {
  const std::string out = (folder_ / "show.json").string();
  const ProgramResult result = hone({"show", plan_, "--json", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("a plan of small.onnx by hone"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("can be used"), std::string::npos) << result.out;
  const json found = json::parse(read_text(out));
  EXPECT_EQ(found["device"], GetParam());
  EXPECT_TRUE(found["refused_here"].is_null());
  EXPECT_FALSE(found["made_for"].empty());
  EXPECT_FALSE(found["kernels"].empty());
  EXPECT_NE(hone({"show", plan_, "--text"}).out.find("return %y"), std::string::npos);
}

TEST_P(Plans, AreTheSameFileWithTheSameTimings) {
  const std::string first = read_text(plan_);
  make(model_, {"--bind", "batch=2"});
  EXPECT_EQ(read_text(plan_), first);
}

TEST_P(Plans, RefuseWhatOnlyTheModelCanBeAskedFor) {
  const std::string other = std::string(GetParam()) == "cpu" ? "null" : "cpu";
  const std::vector<std::vector<std::string>> lines = {
      {"run", plan_, "--out", "o", "--bind", "batch=3"},
      {"run", plan_, "--out", "o", "--shape", "x=1x3x8x8"},
      {"run", plan_, "--out", "o", "--seed", "1"},
      {"bench", plan_, "--batch", "3"},
      {"bench", plan_, "--sweep"},
      {"bench", plan_, "--against", "ort"},
      {"bench", plan_, "--disable", "fuse"},
      {"bench", plan_, "--device", other},
      {"bench", plan_, "--no-overlap"},
      {"show", plan_, "--floors"},
      {"lab", plan_, "--budget", "1"},
      {"compare", plan_, model_},
      {"optimize", plan_, "-o", (folder_ / "o.onnx").string()}};
  for (const auto& line : lines)
    EXPECT_TRUE(is_one_line_error(hone(line), {"plan"})) << fmt::format("{}", fmt::join(line, " "));
  EXPECT_TRUE(
      is_one_line_error(hone({"optimize", model_, "-o", plan_, "--symbolic"}), {"--symbolic", "plan"}));
  EXPECT_TRUE(
      is_one_line_error(hone({"run", plan_, "--out", (folder_ / "o").string()}), {"input 'x'", "missing"}));
  EXPECT_TRUE(is_one_line_error(
      hone({"run", plan_, "--input", "y=" + (folder_ / "x.npy").string(), "--out", (folder_ / "o").string()}),
      {"there is no input 'y'", "its inputs are x"}));
}

INSTANTIATE_TEST_SUITE_P(All, Plans, ::testing::Values("cpu", "null"),
                         [](const auto& test) { return std::string(test.param); });

class DamagedPlan : public ::testing::Test {
 protected:
  void SetUp() override {
    write_small_network(folder_ / "small.onnx");
    const ProgramResult made =
        run_hone({"optimize", (folder_ / "small.onnx").string(), "-o", plan_, "--no-cache"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    good_ = read_text(plan_);
  }
  TemporaryFolder folder_;
  std::string plan_ = (folder_ / "small.plan").string(), good_;
};

TEST_F(DamagedPlan, IsOneLineThatNamesItWhereverTheDamageIs) {
  for (std::size_t step = 0; step < 12; ++step) {
    std::string bad = good_;
    bad[step * (bad.size() - 1) / 11] ^= 4;
    write_text(plan_, bad);
    // Without its first letters it is no plan, and no model.
    for (const char* command : {"show", "bench"})
      EXPECT_TRUE(is_one_line_error(run_hone({command, plan_}), {"small.plan"})) << command << " " << step;
    write_text(plan_, good_.substr(0, step * (good_.size() - 1) / 11));
    EXPECT_TRUE(is_one_line_error(run_hone({"bench", plan_}), {"small.plan"})) << step;
  }
}

TEST_F(DamagedPlan, AFullDiskLeavesTheOldPlan) {
  RunOptions full;
  full.largest_file = good_.size() / 2;
  EXPECT_TRUE(is_one_line_error(
      run_hone({"optimize", (folder_ / "small.onnx").string(), "-o", plan_, "--no-cache"}, full)));
  EXPECT_EQ(read_text(plan_), good_);
  EXPECT_EQ(folder_.names(), (std::vector<std::string>{"small.onnx", "small.plan"}));
}

// --- buckets ---

class BucketsOfACommand : public ::testing::Test {
 protected:
  void SetUp() override {
    write_small_network(model_);
    write_f32_npy(folder_ / "x.npy", {3, 3, 8, 8}, 0.25F);
    options_.environment["XDG_CACHE_HOME"] = (folder_ / "cache").string();
  }
  json json_of(std::vector<std::string> arguments) const {
    const std::string path = (folder_ / "out.json").string();
    arguments.insert(arguments.end(), {"--json", path});
    const ProgramResult result = run_hone(arguments, options_);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? json::parse(read_text(path)) : json();
  }
  std::vector<std::string> run_line(const std::string& out) const {
    return {"run", model_, "--input", "x=" + (folder_ / "x.npy").string(), "--out", (folder_ / out).string()};
  }
  TemporaryFolder folder_;
  std::string model_ = (folder_ / "small.onnx").string();
  RunOptions options_;
};

TEST_F(BucketsOfACommand, RunPadsToTheNextOneAndGivesTheSameRows) {
  std::vector<std::string> line = run_line("padded");
  line.insert(line.end(), {"--buckets", "batch=1,8"});
  const json run = json_of(line);
  EXPECT_EQ(run["served"]["symbols"][0]["extent"], 3);
  EXPECT_EQ(run["served"]["symbols"][0]["of_plan"], 8);
  EXPECT_EQ(run["served"]["padding"], 0.625);
  EXPECT_EQ(run["outputs"][0]["shape"], (std::vector<int>{3, 4, 8, 8}));
  json_of(run_line("exact"));
  const std::string a = read_text(folder_ / "padded/y.npy"), b = read_text(folder_ / "exact/y.npy");
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t at = a.size() - 3 * 4 * 8 * 8 * sizeof(float); at < a.size(); at += sizeof(float)) {
    float x = 0, y = 0;
    std::memcpy(&x, &a[at], sizeof x);
    std::memcpy(&y, &b[at], sizeof y);
    ASSERT_NEAR(x, y, 1e-4);
  }
}

TEST_F(BucketsOfACommand, BenchSaysWhichServedAndWhatPaddingCosts) {
  const json padded = json_of({"bench", model_, "--buckets", "batch=4,8", "--batch", "3", "--budget", "0.3"});
  EXPECT_EQ(padded["served"]["symbols"][0]["of_plan"], 4);
  EXPECT_EQ(padded["batch"], 3);
  EXPECT_GT(padded["against_exact"]["ratio"]["median"], 0);
  const json exact = json_of({"bench", model_, "--buckets", "batch", "--bind", "batch=4", "--budget", "0.2"});
  EXPECT_EQ(exact["served"]["padding"], 0);
  EXPECT_TRUE(exact["against_exact"].is_null());
}

TEST_F(BucketsOfACommand, BenchKeepsPlansForTheNextStartUnlessTheCacheIsOff) {
  const std::vector<std::string> line = {"bench",  model_,    "--buckets", "batch=4",
                                         "--bind", "batch=4", "--budget",  "0.1"};
  std::vector<std::string> off = line;
  off.emplace_back("--no-cache");
  EXPECT_FALSE(json_of(off)["served"]["from_file"]);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "cache/hone/plans"));
  EXPECT_FALSE(json_of(line)["served"]["from_file"]);
  EXPECT_TRUE(json_of(line)["served"]["from_file"]);
  EXPECT_FALSE(json_of(off)["served"]["from_file"]);
}

TEST_F(BucketsOfACommand, RefuseWhatCannotBeMeant) {
  const std::vector<std::vector<std::string>> lines = {
      {"bench", model_, "--buckets", "batch=0"},
      {"bench", model_, "--buckets", "=1"},
      {"bench", model_, "--buckets", "batch=1", "--buckets", "batch=2"},
      {"bench", model_, "--buckets", "length=1"},
      {"bench", model_, "--buckets", "batch=1", "--against", "ort"}};
  for (const auto& line : lines)
    EXPECT_TRUE(is_one_line_error(run_hone(line, options_))) << fmt::format("{}", fmt::join(line, " "));
}

}  // namespace
}  // namespace hone::testing_support
