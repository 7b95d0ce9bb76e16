// hone compare of trainings as a user runs it.
#include <fstream>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/file.h"

namespace hone::training {
namespace {

using ::testing::HasSubstr;
using testing_support::is_one_line_error;
using testing_support::ProgramResult;
using testing_support::run_hone;
using testing_support::TemporaryFolder;
namespace fs = std::filesystem;

// Trains with these changes of the tiny recipe; returns the folder.
std::string trained(const TemporaryFolder& folder, const std::string& name,
                    const std::vector<std::string>& set = {}) {
  const fs::path recipe = folder / "tiny.toml";
  std::ofstream(recipe) << tiny_digits_text();
  std::vector<std::string> words = {"train", recipe.string(), "--threads", "1", "--out", folder / name};
  for (const std::string& each : set) words.insert(words.end(), {"--set", each});
  const ProgramResult result = run_hone(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("report    " + (folder / name / "report.html").string()));
  return folder / name;
}

nlohmann::json compared(const TemporaryFolder& folder, const std::string& a, const std::string& b) {
  const fs::path json = folder / "compare.json";
  const ProgramResult result = run_hone({"compare", a, b, "--json", json.string()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(*read_file(json));
}

TEST(CompareProgram, TrainingsOfOneSeedAreTheSame) {
  const TemporaryFolder folder;
  const auto json = compared(folder, trained(folder, "a"), trained(folder, "b"));
  EXPECT_EQ(json["learning"]["change"], "same");
  EXPECT_EQ(json["learning"]["same_losses"], true);
  EXPECT_TRUE(json["recipe"].empty());
}

TEST(CompareProgram, SeveralSeedsOfARateThatIsTooLowLearnWorse) {
  const TemporaryFolder folder;
  std::string good, slow;
  for (const char* seed : {"1", "2", "3"}) {
    const std::string set = std::string("train.seed=") + seed;
    good += (good.empty() ? "" : ",") + trained(folder, std::string("good") + seed, {set});
    slow +=
        (slow.empty() ? "" : ",") + trained(folder, std::string("slow") + seed, {set, "optimizer.rate=1e-5"});
  }
  const auto json = compared(folder, good, slow);
  for (const auto& number : json["learning"]["numbers"]) {
    if (number["id"] != "mean_loss") continue;
    EXPECT_EQ(number["change"], "worse");
    EXPECT_LT(number["test"]["p"], 0.05);
  }
  EXPECT_EQ(json["a"].size(), 3U);
  ASSERT_EQ(json["recipe"].size(), 1U) << json["recipe"];
  EXPECT_EQ(json["recipe"][0]["key"], "optimizer.rate");
  const ProgramResult page = run_hone({"compare", good, slow, "--out", folder / "page"});
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_TRUE(fs::exists(folder / "page/compare.html"));
  EXPECT_TRUE(fs::exists(folder / "page/compare.json"));
}

TEST(CompareProgram, WhatIsNoTrainingIsNamed) {
  const TemporaryFolder folder;
  const std::string run = trained(folder, "a");
  const ProgramResult missing = run_hone({"compare", run + "," + (folder / "none").string(), run});
  EXPECT_TRUE(is_one_line_error(missing)) << missing.err;
  EXPECT_THAT(missing.err, HasSubstr("none: is no run folder of hone train"));
  const ProgramResult models = run_hone({"compare", run, run, "--threads", "2"});
  EXPECT_THAT(models.err, HasSubstr("--threads: is for models"));
  ASSERT_TRUE(write_file(fs::path(run) / "training.json", "{").ok());
  const ProgramResult damaged = run_hone({"compare", run, run});
  EXPECT_TRUE(is_one_line_error(damaged)) << damaged.err;
  EXPECT_THAT(damaged.err, HasSubstr("training.json"));
}

}  // namespace
}  // namespace hone::training
