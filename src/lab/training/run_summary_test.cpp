// Run folders as data: written, read back, cut short and damaged.
#include "lab/training/run_summary.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "analyze/training/compare_training.h"
#include "analyze/training/fabricate_training.h"
#include "core/file.h"
#include "core/testing/scratch_path.h"

namespace hone::lab {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;
using analyze::TrainingRun;
using analyze::fabricate::training_run;

class RunSummary : public ::testing::Test {
 protected:
  RunSummary() : folder_(scratch_path("hone-run-summary")) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RunSummary() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  // As hone train leaves it, but for checkpoints and the trace.
  fs::path leave(const TrainingRun& run, const std::string& name) const {
    const fs::path folder = folder_ / name;
    fs::create_directories(folder);
    std::string lines;
    for (const analyze::TrainingStep& s : run.log)
      lines += fmt::format(
          R"({{"step":{},"kind":"train","loss":{},"rate":{},"gradient_norm":{},"step_ms":{},"input_wait_ms":{}}})"
          "\n",
          s.step, std::isfinite(s.loss) ? fmt::format("{}", s.loss) : "null", s.rate, s.gradient_norm,
          s.step_ms, s.input_wait_ms);
    for (const analyze::TrainingEvaluation& e : run.evaluations)
      lines += fmt::format(R"({{"step":{},"kind":"evaluate","loss":{},"accuracy":{}}})"
                           "\n",
                           e.step, e.loss, *e.metric);
    std::string recipe = "name = 'digits'\n[model]\nzoo = \"digits_cnn\"\n[train]\nbatch = 32\n";
    recipe += fmt::format("seed = {}\n[[optimizer.groups]]\nmatch = ['a.*']\n", run.recipe[2].second);
    EXPECT_TRUE(write_file(folder / "metrics.jsonl", lines).ok());
    EXPECT_TRUE(write_file(folder / "recipe.toml", recipe).ok());
    EXPECT_TRUE(write_training_summary(folder, run).ok());
    return folder;
  }

  fs::path folder_;
};

TEST_F(RunSummary, ReadsBackWhatWasWritten) {
  TrainingRun run = training_run({.seed = 5});
  run.target = 0.9;
  run.notes = {"left out: a.png: \"damaged\""};
  run.log[3].loss = NAN;
  const fs::path folder = leave(run, "a");
  ASSERT_TRUE(is_training_run(folder));
  const auto read = read_training_run(folder);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->name, "digits");
  EXPECT_EQ(read->end, analyze::RunEnd::kDone);
  EXPECT_EQ(read->steps, 200);
  EXPECT_EQ(read->metric, "accuracy");
  EXPECT_EQ(read->target, 0.9);
  EXPECT_EQ(read->notes, run.notes);
  ASSERT_EQ(read->log.size(), run.log.size());
  EXPECT_EQ(read->log[100].loss, run.log[100].loss);
  EXPECT_EQ(read->log[100].step_ms, run.log[100].step_ms);
  EXPECT_TRUE(std::isnan(read->log[3].loss));
  ASSERT_EQ(read->evaluations.size(), run.evaluations.size());
  EXPECT_EQ(read->evaluations[4].metric, run.evaluations[4].metric);
  ASSERT_EQ(read->memory.size(), 2U);
  EXPECT_EQ(read->memory[0].bytes, 49'380);
  EXPECT_EQ(read->environment.threads, 2);
  const std::vector<std::pair<std::string, std::string>> recipe = {
      {"model.zoo", "'digits_cnn'"}, {"train.batch", "32"}, {"train.seed", "5"}};
  for (const auto& [key, value] : recipe) {
    const auto found = std::find_if(read->recipe.begin(), read->recipe.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    ASSERT_NE(found, read->recipe.end()) << key;
    EXPECT_EQ(found->second, value);
  }
}

TEST_F(RunSummary, OfEqualRunsNothingChanged) {
  const auto a = read_training_run(leave(training_run(), "a")),
             b = read_training_run(leave(training_run(), "b"));
  ASSERT_TRUE(a.ok() && b.ok());
  const auto comparison = analyze::compare_training({&*a, 1}, {&*b, 1});
  ASSERT_TRUE(comparison.ok());
  EXPECT_TRUE(comparison->same_losses);
  EXPECT_EQ(comparison->step.certainty, analyze::Certainty::kNone);
  EXPECT_TRUE(comparison->recipe.empty());
}

TEST_F(RunSummary, ALastLineThatWasCutShortIsLeftOut) {
  const fs::path folder = leave(training_run(), "a");
  const std::string text = *read_file(folder / "metrics.jsonl");
  ASSERT_TRUE(write_file(folder / "metrics.jsonl", text + R"({"step": 201, "kind": "tra)").ok());
  const auto read = read_training_run(folder);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->log.size(), 200U);
}

TEST_F(RunSummary, DamageIsOneLineAndNoCrash) {
  const fs::path folder = leave(training_run(), "a");
  EXPECT_FALSE(is_training_run(folder_));
  ASSERT_TRUE(write_file(folder / "training.json", "{ \"steps\": ").ok());
  EXPECT_THAT(read_training_run(folder).error().message, HasSubstr("training.json"));
  // Other types than were written are not believed.
  ASSERT_TRUE(
      write_file(
          folder / "training.json",
          R"({"steps": 1e300, "batch": "many", "memory": [1, {"bytes": []}], "environment": 3, "notes": {"a": 1}})")
          .ok());
  const auto odd = read_training_run(folder);
  ASSERT_TRUE(odd.ok()) << odd.error().message;
  EXPECT_EQ(odd->end, analyze::RunEnd::kUnfinished);
  EXPECT_EQ(odd->steps, 0);
  ASSERT_TRUE(
      write_file(folder / "metrics.jsonl", "[]\n3\n{\"step\": 1}\n{\"step\": 2, \"kind\": 5}\n").ok());
  EXPECT_TRUE(read_training_run(folder)->log.empty());
  fs::remove(folder / "recipe.toml");
  EXPECT_THAT(read_training_run(folder).error().message, HasSubstr("recipe.toml"));
}

}  // namespace
}  // namespace hone::lab
