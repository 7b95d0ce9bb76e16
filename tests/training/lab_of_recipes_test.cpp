// hone lab RECIPE.toml as a user runs it: what it leaves, what it says, and what it refuses before anything is written.
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
using testing_support::run_hone;
using testing_support::TemporaryFolder;
namespace fs = std::filesystem;

TEST(LabOfRecipes, LeavesAReportRunFoldersAndARecipeThatTrains) {
  const TemporaryFolder folder;
  std::ofstream(folder / "tiny.toml") << tiny_digits_text();
  const auto done = run_hone({"lab", (folder / "tiny.toml").string(), "--budget", "3", "--out",
                              (folder / "lab").string(), "--set", "train.batch=4", "--no-cache"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("A step of tiny takes"));
  EXPECT_THAT(done.out, HasSubstr((folder / "lab" / "recipe.toml").string()));
  EXPECT_TRUE(fs::exists(folder / "lab" / "report.html"));
  EXPECT_FALSE(fs::exists(folder / "lab" / "optimised.onnx")) << "a step is no model that others could run";
  const auto text = read_file(folder / "lab" / "report.json");
  ASSERT_TRUE(text.ok());
  const nlohmann::json report = nlohmann::json::parse(*text);
  EXPECT_EQ(report["baseline"]["top"].size(), 5U);
  EXPECT_EQ(report["curves"].size(), 2U);
  EXPECT_TRUE(report["result"]["passed"].get<bool>());
  const auto explained =
      run_hone({"explain", (folder / "lab" / "baseline").string(), "--out", (folder / "e").string()});
  EXPECT_TRUE(explained.exit_code == 0 || explained.exit_code == 3) << explained.err;  // 3: on a busy machine
  const auto trained = run_hone({"train", (folder / "lab" / "recipe.toml").string(), "--set", "train.steps=3",
                                 "--out", (folder / "run").string()});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
}

TEST(LabOfRecipes, RefusesWhatIsNotForRecipesBeforeAnythingIsWritten) {
  const TemporaryFolder folder;
  const std::string recipe = (folder / "tiny.toml").string(), out = (folder / "lab").string();
  std::ofstream(recipe) << tiny_digits_text();
  EXPECT_TRUE(
      is_one_line_error(run_hone({"lab", recipe, "--bind", "N=2", "--out", out}), {"--bind", "recipes"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"lab", recipe, "more", "--out", out}), {"'more'", "one recipe"}));
  EXPECT_TRUE(
      is_one_line_error(run_hone({"lab", recipe, "--set", "train.bacth=3", "--out", out}), {"did you mean"}));
  EXPECT_TRUE(
      is_one_line_error(run_hone({"lab", "model.onnx", "--set", "train.batch=3", "--out", out}), {"--set"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"lab", recipe, "--disable", "fusee", "--out", out}), {"fusee"}));
  EXPECT_TRUE(
      is_one_line_error(run_hone({"lab", (folder / "none.toml").string(), "--out", out}), {"none.toml"}));
  EXPECT_TRUE(is_one_line_error(
      run_hone({"lab", recipe, "--set", "train.batch=4000", "--budget", "2", "--out", out}), {"batch"}));
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace hone::training
