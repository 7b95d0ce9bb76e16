// hone lab RECIPE.toml as a user runs it: what it leaves, what it says, and what it refuses before anything is written.
#include <fstream>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/folder_lock.h"

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

// What stands in a folder and is no lab's is somebody's work.
TEST(LabOfRecipes, WritesOverNoRecipeOfItsUserAndNoRun) {
  const TemporaryFolder folder;
  const std::string recipe = (folder / "recipe.toml").string();
  std::ofstream(recipe) << "# my own words\n" << tiny_digits_text();
  const std::string before = *read_file(recipe);
  testing_support::RunOptions options;
  options.environment["XDG_CACHE_HOME"] = (folder / "cache").string();
  give_roofs(options);
  const auto lab_to = [&](const std::string& of, const fs::path& out) {
    return run_hone({"lab", of, "--budget", "1", "--out", out.string()}, options);
  };
  EXPECT_TRUE(is_one_line_error(lab_to(recipe, folder.path()), {"--out", "written over", "another folder"}));
  EXPECT_EQ(*read_file(recipe), before);
  fs::create_directory(folder / "other");
  fs::copy_file(recipe, folder / "other/recipe.toml");
  EXPECT_TRUE(is_one_line_error(lab_to(recipe, folder / "other"), {"--out", "no lab has written"}));
  ASSERT_EQ(
      run_hone({"train", recipe, "--set", "train.steps=3", "--out", (folder / "run").string()}).exit_code, 0);
  const std::string page = *read_file(folder / "run/report.html");
  EXPECT_TRUE(is_one_line_error(lab_to(recipe, folder / "run"), {"--out", "a run of hone train"}));
  EXPECT_EQ(*read_file(folder / "run/report.html"), page);
  EXPECT_FALSE(fs::exists(folder / "report.json"));
  ASSERT_EQ(lab_to(recipe, folder / "lab").exit_code, 0);
  EXPECT_EQ(lab_to(recipe, folder / "lab").exit_code, 0) << "its own files";
}

TEST(LabOfRecipes, IsOneAtATimeInAFolder) {
  const TemporaryFolder folder;
  std::ofstream(folder / "tiny.toml") << tiny_digits_text();
  fs::create_directory(folder / "lab");
  const auto held = lock_folder(folder / "lab");
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(is_one_line_error(
      run_hone({"lab", (folder / "tiny.toml").string(), "--budget", "1", "--out", (folder / "lab").string()}),
      {"another process"}));
}

TEST(LabOfRecipes, LeavesTheRecipeThoughNobodyCanReadWhatItSays) {
  const TemporaryFolder folder;
  std::ofstream(folder / "tiny.toml") << tiny_digits_text();
  const std::string line = testing_support::hone_program().string() + " lab " +
                           (folder / "tiny.toml").string() + " --budget 1 --no-cache --out " +
                           (folder / "lab").string() + " >/dev/full 2>" + (folder / "err").string();
  EXPECT_NE(std::system(line.c_str()), 0);
  EXPECT_THAT(*read_file(folder / "err"), HasSubstr("cannot write to standard output: "));
  EXPECT_THAT(*read_file(folder / "err"), ::testing::Not(HasSubstr("irectory")));
  EXPECT_TRUE(fs::exists(folder / "lab/recipe.toml"));
}

TEST(LabOfRecipes, RefusesARunThatDoesNotFitIntoItsMemory) {
  const TemporaryFolder folder;
  std::ofstream(folder / "tiny.toml") << tiny_digits_text();
  EXPECT_TRUE(
      is_one_line_error(run_hone({"lab", (folder / "tiny.toml").string(), "--set", "train.memory=\"3 KiB\"",
                                  "--budget", "1", "--out", (folder / "lab").string()}),
                        {"more than 3.00 KiB", "[train] memory"}));
  EXPECT_FALSE(fs::exists(folder / "lab"));
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
