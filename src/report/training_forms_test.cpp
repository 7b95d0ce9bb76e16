// The page of a training run, and comparisons of two in each of their forms.
#include <cmath>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyze/training/fabricate_training.h"
#include "report/fabricate_report.h"
#include "report/html.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report/text.h"
#include "report/training_words.h"

namespace hone::report {
namespace {

using analyze::RunEnd;
using analyze::TrainingRun;
using analyze::fabricate::training_run;
using Json = nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TrainingRun recorded_run() {
  TrainingRun run = training_run();
  const analyze::LabReport report = fabricate::resnet_report();
  run.recorded = report.baseline;
  run.recorded->phases = {{trace::Phase::kForward, 4, 0.2}, {trace::Phase::kLoss, 0.5, 0.02}};
  run.roofs = report.roofs;
  return run;
}

TEST(TrainingPage, ShowsTheWholeRun) {
  const std::string page = training_html(recorded_run());
  for (const char* id : {"learning", "pace", "ledger", "top", "roofline", "memory", "recipe", "facts"})
    EXPECT_TRUE(has(page, "<section id=\"" + std::string(id) + "\"")) << id;
  EXPECT_TRUE(has(page, "Trained to its end: accuracy 0.9")) << page.substr(0, 20'000).substr(15'000);
  EXPECT_TRUE(has(page, "loss 0.50"));  // of phases
  EXPECT_TRUE(has(page, "48.2 KiB"));
  EXPECT_TRUE(has(page, "zoo = &#39;digits_cnn&#39;"));
  EXPECT_TRUE(has(page, "hone train digits.toml"));
}

TEST(TrainingPage, StandsAlone) {
  const std::string page = training_html(recorded_run());
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("})
    EXPECT_FALSE(has(page, outside)) << outside;
}

TEST(TrainingPage, SaysHowTheRunEnded) {
  TrainingRun run = training_run();
  const std::pair<RunEnd, const char*> words[] = {{RunEnd::kDone, "Trained to its end"},
                                                  {RunEnd::kTarget, "Reached its target"},
                                                  {RunEnd::kStopped, "Stopped behind step 200 of 200"},
                                                  {RunEnd::kFailed, "Failed behind step 200 of 200"},
                                                  {RunEnd::kUnfinished, "Not at its end"}};
  run.failure = "step 201: the loss is NaN; 'conv<1>' made it";
  for (const auto& [end, headline] : words) {
    run.end = end;
    EXPECT_TRUE(has(training_html(run), headline)) << headline;
    EXPECT_EQ(has(training_html(run), "conv&lt;1&gt;"), end == RunEnd::kFailed);
  }
}

TEST(TrainingPage, OfARunThatWasTooShortSaysSo) {
  TrainingRun run = training_run();
  EXPECT_TRUE(has(training_html(run), "Nothing is known of it"));
  run.log.clear();
  run.evaluations.clear();
  const std::string page = training_html(run);
  EXPECT_FALSE(has(page, "id=\"learning\""));
  EXPECT_TRUE(has(page, "</html>"));
}

TEST(TrainingPage, SurvivesNumbersThatAreNoneAndHostileNames) {
  TrainingRun run = recorded_run();
  run.name = "<script>alert(1)</script>";
  run.metric = "<b>\"&";
  run.notes = {"left out: \x1b[31m<i>"};
  run.recipe_text = "x = \"</code><script>\"\n";
  run.log[5].loss = NAN;
  run.log[6].gradient_norm = INFINITY;
  run.log[7].step_ms = -1;
  run.log[8].step_ms = 1e308;
  run.log[9].step_ms = -1e308;
  run.evaluations[2].metric = NAN;
  const std::string page = training_html(run);
  EXPECT_FALSE(has(page, "<script>alert"));
  EXPECT_FALSE(has(page, "</code><script>"));
  EXPECT_FALSE(has(page, "<i>"));
  const std::string drawings =
      page.substr(page.find("id=\"learning\""), page.find("id=\"ledger\"") - page.find("id=\"learning\""));
  for (const char* none : {"nan", "inf "}) EXPECT_FALSE(has(drawings, none)) << none;
}

TEST(TrainingPage, StaysSmallHoweverLongTheRun) {
  const std::string page = training_html(training_run({.steps = 100'000}));
  EXPECT_LT(page.size(), 400'000U);
}

TEST(CompareTrainings, EveryFormSaysWhatWasFound) {
  std::vector<TrainingRun> a, b;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    a.push_back(training_run({.seed = seed}));
    b.push_back(training_run({.seed = seed + 10, .rate = 0.7, .step_ms = 13, .best = 0.9}));
    b.back().recipe[1].second = "16";
  }
  const auto comparison = analyze::compare_training(a, b);
  ASSERT_TRUE(comparison.ok());
  const std::string terminal = compare_training_terminal(*comparison, {96, false});
  const std::string page = compare_training_html(*comparison, a, b);
  for (const std::string& form : {terminal, page}) {
    EXPECT_TRUE(has(form, "learned worse")) << form.substr(0, 3000);
    EXPECT_TRUE(has(form, "accuracy at the end"));
    EXPECT_TRUE(has(form, "worse, p = "));
    EXPECT_TRUE(has(form, "±"));
    EXPECT_TRUE(has(form, "train.batch"));
    EXPECT_TRUE(has(form, "waiting for data"));
  }
  std::istringstream lines(terminal);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 96U) << line;
  const Json json = Json::parse(compare_training_json(*comparison));
  EXPECT_EQ(json["learning"]["change"], "worse");
  EXPECT_EQ(json["learning"]["numbers"][0]["id"], "last_metric");
  EXPECT_EQ(json["learning"]["numbers"][0]["a"].size(), 4U);
  EXPECT_LT(json["learning"]["numbers"][0]["test"]["p"], 0.05);
  EXPECT_EQ(json["step_ms"]["certainty"], "sure");
  EXPECT_EQ(json["recipe"][0]["key"], "train.batch");
}

TEST(CompareTrainings, NameTheOperatorsThatChanged) {
  TrainingRun a = recorded_run(), b = recorded_run();
  analyze::OperatorTime& slow = b.recorded->operators.front();
  for (double& ms : slow.samples_ms) ms *= 3;
  slow.ms.median *= 3;
  const auto comparison = analyze::compare_training({&a, 1}, {&b, 1});
  ASSERT_TRUE(comparison.ok());
  ASSERT_EQ(comparison->operators.size(), 1U);
  EXPECT_EQ(comparison->operators[0].b[0], slow.name);
  EXPECT_TRUE(has(compare_training_terminal(*comparison, {96, false}), "By operator"));
  EXPECT_TRUE(has(compare_training_html(*comparison, {&a, 1}, {&b, 1}), "Operators that changed"));
  EXPECT_EQ(Json::parse(compare_training_json(*comparison))["operators"][0]["certainty"], "sure");
}

TEST(CompareTrainings, WithoutASecondSeedThereIsNoTest) {
  const std::vector<TrainingRun> a = {training_run({.seed = 1})}, b = {training_run({.seed = 2})};
  const auto comparison = analyze::compare_training(a, b);
  ASSERT_TRUE(comparison.ok());
  const Json json = Json::parse(compare_training_json(*comparison));
  EXPECT_EQ(json["learning"]["change"], "unknown");
  EXPECT_TRUE(json["learning"]["numbers"][0]["test"].is_null());
  EXPECT_TRUE(has(compare_training_terminal(*comparison, {96, false}), "Seen, not proven"));
}

TEST(TrainingWords, ClocksHaveHoursWhereNeeded) {
  EXPECT_EQ(training_time_text(5.26), "5.3 s");
  EXPECT_EQ(training_time_text(65), "1:05");
  EXPECT_EQ(training_time_text(3723), "1:02:03");
  EXPECT_EQ(training_time_text(-1), "0.0 s");
}

}  // namespace
}  // namespace hone::report
