// The report of an experiment in each of its forms: the contract of its JSON, and that it claims what was measured.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/testing/scratch_path.h"
#include "report/fabricate_report.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/terminal.h"
#include "report/words.h"
#include "report/write.h"

namespace hone::report {
namespace {

using Json = nlohmann::json;

TEST(LabJson, KeepsTheContractOfSchemaOne) {
  analyze::LabReport report = fabricate::resnet_report();
  Json json = Json::parse(lab_json(report));
  EXPECT_EQ(json["schema"], 1);
  for (const char* name : {"machine", "model", "device"}) EXPECT_TRUE(json[name].is_string()) << name;
  for (const char* side : {"baseline", "optimised"}) {
    for (const char* name : {"median", "low", "high"}) EXPECT_TRUE(json[side]["step_ms"][name].is_number());
    double sum = 0;
    for (const Json& row : json[side]["ledger"]) {
      for (const char* name : {"cause", "ms", "share", "evidence", "fix", "predicted_gain_ms"})
        EXPECT_TRUE(row.contains(name)) << name;
      sum += row["ms"].get<double>();
    }
    EXPECT_NEAR(sum, json[side]["step_ms"]["median"], 0.005 * sum);
    EXPECT_EQ(json[side]["top"].size(), 5u);
    for (const char* name : {"rank", "op", "name", "ms", "share", "flops", "bytes", "intensity", "roof",
                             "floor_ms", "fraction_of_roof", "why"})
      EXPECT_TRUE(json[side]["top"][0].contains(name)) << name;
  }
  for (const char* name : {"name", "numerics", "predicted_gain_ms", "measured_gain_ms", "kept", "reason",
                           "max_rel_err", "arena_bytes", "precision"})
    EXPECT_TRUE(json["passes"][0].contains(name)) << name;
  EXPECT_TRUE(json["passes"][5]["measured_gain_ms"].is_null());
  for (const char* name : {"passes", "predicted_gain_ms", "measured_gain_ms", "kept", "reason"})
    EXPECT_TRUE(json["combinations"][0].contains(name)) << name;
  EXPECT_TRUE(json["result"]["passed"]);
  EXPECT_TRUE(json["result"]["predicted_gain_ms"].is_number());
  for (const char* name : {"measured_gain_ms", "paired_before_ms", "paired_after_ms"})
    EXPECT_TRUE(json["result"][name]["median"].is_number()) << name;
  EXPECT_EQ(json["phases"][1], (Json{{"name", "choosing kernels"}, {"seconds", 4.25}}));
  EXPECT_GT(json["result"]["speedup"]["median"], 1);
}

TEST(LabForms, SayOnWhichRowsOfALargeBatchNumbersWereComputed) {
  analyze::LabReport report = fabricate::resnet_report();
  EXPECT_TRUE(Json::parse(lab_json(report))["reference_rows"].is_null());
  EXPECT_EQ(reference_rows_text(report), "");
  report.reference_rows = {.batch = 256, .rows = 2, .all_given = false, .why_all = ""};
  EXPECT_EQ(Json::parse(lab_json(report))["reference_rows"],
            (Json{{"batch", 256}, {"rows", 2}, {"all_rows_given", false}, {"why_all", nullptr}}));
  const std::string sentence = "The batch of 256 holds these over again in scattered order";
  EXPECT_NE(reference_rows_text(report).find(sentence), std::string::npos) << reference_rows_text(report);
  EXPECT_NE(lab_markdown(report).find(sentence), std::string::npos);
  EXPECT_NE(lab_html(report).find(sentence), std::string::npos);
  EXPECT_NE(lab_terminal(report, {.width = 400}).find(sentence), std::string::npos);
  report.reference_rows.all_given = true;
  EXPECT_NE(reference_rows_text(report).find("all 256 rows that were given are compared"), std::string::npos);
  report.reference_rows = {
      .batch = 8, .rows = 8, .why_all = "node 'bn' (BatchNormalization) takes statistics"};
  EXPECT_NE(reference_rows_text(report).find("whole batch of 8, which takes it long"), std::string::npos);
  EXPECT_NE(reference_rows_text(report).find("node 'bn'"), std::string::npos);
}

// What hone train does with the recipe comes first; what passes win, of which it makes most by itself, second.
TEST(LabOfARecipe, SaysFirstWhatHoneTrainGains) {
  analyze::LabReport report = fabricate::resnet_report();
  report.model.name = "digits";
  report.curves = {{"loss", {2, 1}, {2, 1}, {2, 1}, 1e-4}};
  report.training = analyze::TrainingGain{{10.0, 9.8, 10.3},
                                          analyze::Estimate{1.25, 1.2, 1.3},
                                          {"train.deterministic=false", "train.accumulate=2"}};
  EXPECT_EQ(lab_headline(report).headline,
            "1.25× faster than hone train was, with train.deterministic=false train.accumulate=2.");
  EXPECT_EQ(lab_headline(report).tone, Tone::kGood);
  EXPECT_TRUE(lab_headline(report).rest.starts_with("A step of digits takes 8.0"))
      << lab_headline(report).rest;
  const std::string terminal = lab_terminal(report, {});
  const std::size_t first = terminal.find("1.25× faster than hone train was");
  const std::size_t second = terminal.find("Passes, those that hone train makes");
  ASSERT_NE(first, std::string::npos) << terminal;
  ASSERT_NE(second, std::string::npos) << terminal;
  EXPECT_LT(first, second);
  const std::string page = lab_html(report);
  ASSERT_NE(page.find("hone train as given"), std::string::npos);
  EXPECT_LT(page.find("hone train as given"), page.find("step before"));
  EXPECT_NE(page.find("of the passes"), std::string::npos);
  const Json json = Json::parse(lab_json(report));
  EXPECT_EQ(json["training"]["speedup"]["median"], 1.25);
  EXPECT_EQ(json["training"]["step_ms"]["median"], 10.0);
  EXPECT_EQ(json["training"]["changes"][1], "train.accumulate=2");

  report.training->speedup.reset();
  report.training->changes.clear();
  EXPECT_EQ(lab_headline(report).headline, "As fast as hone train was before.");
  EXPECT_EQ(lab_headline(report).tone, Tone::kNeutral);
  EXPECT_TRUE(Json::parse(lab_json(report))["training"]["speedup"].is_null());
  report.training.reset();
  EXPECT_EQ(passes_sentence(report), "") << "of a model nothing comes second";
}

// A training step: what its curves and settings show in every form, and that no setting is claimed as part of the result.
TEST(LabOfARecipe, StandsInEveryFormWithoutClaimingSettings) {
  analyze::LabReport report = fabricate::resnet_report();
  report.model.name = "digits";
  report.settings.push_back({"deterministic = false", "reassociating", 0, analyze::Estimate{1.54, 1.22, 1.83},
                             true, "kernels chosen by measuring; kept: 1.11×"});
  report.settings.back().changed = true;
  report.settings.back().is_predicted = false;
  report.curves = {{"loss", {2.3, 2.1, 1.7}, {2.3, 2.1, 1.70001}, {2.3, 2.1, 1.7}, 1e-4}};
  const Json json = Json::parse(lab_json(report));
  EXPECT_EQ(json["settings"][0]["name"], "deterministic = false");
  EXPECT_TRUE(json["settings"][0]["predicted_gain_ms"].is_null()) << "nothing foretold it, which is not 0 ms";
  EXPECT_EQ(json["curves"][0]["changed"].size(), 3U);
  EXPECT_EQ(lab_headline(report).headline.find("deterministic"), std::string::npos);
  const std::string terminal = lab_terminal(report, {}), page = lab_html(report),
                    markdown = lab_markdown(report);
  for (const std::string* form : {&terminal, &page, &markdown})
    EXPECT_NE(form->find("deterministic = false"), std::string::npos);
  EXPECT_NE(terminal.find("A step of digits takes"), std::string::npos);
  EXPECT_NE(page.find("What it learns"), std::string::npos);
  report.curves.clear();
  EXPECT_EQ(lab_html(report).find("What it learns"), std::string::npos) << "a model has no curves";
}

// ResNet-50 with a pass that narrows types, and one operator that it had to leave.
analyze::LabReport narrowed_report() {
  analyze::LabReport report = fabricate::resnet_report();
  analyze::PassRow row{"fp16", "lossy", 1.2, analyze::Estimate{1.1, 1.0, 1.2}, true, "fp16: 52 ×; kept: 1.4×",
                       3e-3};
  row.precision.push_back({"conv1", "Conv", "f16", 2.5e-4, 2.5e-4, 6.1, false, ""});
  row.precision.push_back({"layer<4>.conv3", "Conv", "f32", 0.4, std::nullopt, 1.2e5, true,
                           "its numbers reach 1.2e+05, beyond f16's largest, 65504"});
  report.passes.push_back(row);
  return report;
}

TEST(Precision, StandsInEveryFormWithWhatStaysInF32First) {
  const analyze::LabReport report = narrowed_report();
  const Json rows = Json::parse(lab_json(report))["passes"].back()["precision"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["node"], "conv1");
  EXPECT_EQ(rows[0]["type"], "f16");
  EXPECT_EQ(rows[0]["kept_f32"], false);
  EXPECT_DOUBLE_EQ(rows[0]["rel_err"], 2.5e-4);
  EXPECT_TRUE(rows[1]["carried_rel_err"].is_null());
  EXPECT_EQ(rows[1]["why"], "its numbers reach 1.2e+05, beyond f16's largest, 65504");
  EXPECT_TRUE(Json::parse(lab_json(report))["passes"][0]["precision"].empty());
  const std::string sentence = "fp16: 1 operator in f16, 1 beside them in f32";
  const std::string terminal = lab_terminal(report, {100, false});
  EXPECT_NE(terminal.find(sentence), std::string::npos) << terminal;
  EXPECT_LT(terminal.find("layer<4>.conv3"), terminal.find("conv1", terminal.find(sentence))) << terminal;
  EXPECT_NE(terminal.find("beyond f16's largest"), std::string::npos);
  const std::string markdown = lab_markdown(report);
  EXPECT_NE(markdown.find("## Precision"), std::string::npos);
  EXPECT_NE(markdown.find(sentence), std::string::npos);
  const std::string page = lab_html(report);
  EXPECT_NE(page.find("layer&lt;4&gt;.conv3"), std::string::npos);
  EXPECT_NE(page.find("id=\"precision\""), std::string::npos);
  EXPECT_EQ(lab_html(fabricate::resnet_report()).find("id=\"precision\""), std::string::npos);
}

// The headline's "instead of" is nobody's time but hone's own without passes.
// A device's own memory is not the process's.
TEST(Forms, TellTheMemoryOfADeviceApartFromTheHosts) {
  analyze::LabReport report = fabricate::resnet_report();
  EXPECT_THAT(lab_markdown(report), ::testing::Not(::testing::HasSubstr("cuda:0")));
  EXPECT_FALSE(Json::parse(lab_json(report))["baseline"]["memory"].contains("device_peak_bytes"));
  report.baseline_memory.device = report.optimised_memory.device = "cuda:0";
  report.baseline_memory.device_peak_bytes = 3 << 20;
  report.optimised_memory.device_peak_bytes = 5 << 20;
  EXPECT_THAT(lab_markdown(report),
              ::testing::HasSubstr("took 5.00 MiB of cuda:0's memory and, of the host's, "));
  EXPECT_EQ(Json::parse(lab_json(report))["baseline"]["memory"]["device_peak_bytes"], 3 << 20);
}

TEST(Forms, SayWhatBeforeStandsFor) {
  const analyze::LabReport report = fabricate::resnet_report();
  for (const std::string& form : {lab_html(report), lab_markdown(report), lab_terminal(report, {200, false})})
    EXPECT_NE(form.find("Before is the model as its file has it"), std::string::npos);
}

TEST(Forms, SetThePredictionsOfWhatWasKeptBesideTheWholeMeasurement) {
  const analyze::LabReport report = fabricate::resnet_report();
  for (const std::string& form :
       {lab_html(report), lab_markdown(report), lab_terminal(report, {200, false})}) {
    EXPECT_NE(form.find("= together"), std::string::npos);
    EXPECT_NE(form.find("measured as one"), std::string::npos);
    EXPECT_NE(form.find("= all that was kept"), std::string::npos);
  }
}

TEST(Forms, ShowTheWarningsOfBothProfilesOnce) {
  analyze::LabReport report = fabricate::resnet_report();
  report.warnings = {"the machine was busy"};
  report.baseline.warnings = {"fc took 1 ms less", "too few steps"};
  report.optimised.warnings = {"too few steps", "conv1 took 2 ms less"};
  EXPECT_EQ(lab_warnings(report),
            (std::vector<std::string>{"the machine was busy", "before: fc took 1 ms less", "too few steps",
                                      "after: conv1 took 2 ms less"}));
  for (const std::string& form :
       {lab_html(report), lab_markdown(report), lab_terminal(report, {200, false})}) {
    EXPECT_NE(form.find("before: fc took"), std::string::npos);
    EXPECT_NE(form.find("after: conv1 took"), std::string::npos);
  }
}

TEST(PhasesSentence, SaysWhereTheExperimentsTimeWent) {
  analyze::LabReport report = fabricate::resnet_report();
  const std::string sentence =
      "The experiment took 18 s: roofs 1.6 s, choosing kernels 4.2 s, paired runs 12.5 s.";
  EXPECT_EQ(phases_sentence(report), sentence);
  for (const std::string& form : {lab_markdown(report), lab_html(report), lab_terminal(report, {200, false})})
    EXPECT_NE(form.find("choosing kernels 4.2"), std::string::npos);
  report.phases.clear();
  EXPECT_EQ(phases_sentence(report), "");
}

TEST(LabHeadline, ClaimsNoMoreThanWasMeasured) {
  analyze::LabReport report = fabricate::resnet_report();
  EXPECT_EQ(lab_headline(report).tone, Tone::kGood);
  EXPECT_EQ(lab_headline(report).headline,
            "1.68× faster with fold_batch_norm, fuse_activation, fuse_residual_add and layout.");
  report.result.speedup = {1.004, 0.996, 1.012};
  EXPECT_EQ(lab_headline(report).headline, "No difference.");
  EXPECT_EQ(lab_headline(report).tone, Tone::kNeutral) << "no success";
  report.result.speedup = {0.8, 0.78, 0.82};
  EXPECT_NE(lab_headline(report).headline.find("slower"), std::string::npos);
  report.result.passed = false;
  EXPECT_EQ(lab_headline(report).headline, "Not accepted.");
}

TEST(LabHeadline, SaysWhatItsBaselineIsWorth) {
  analyze::LabReport report = fabricate::resnet_report();
  EXPECT_EQ(lab_headline(report).rest.find("reference, which is"), std::string::npos);
  report.baseline_operators = 151;
  report.baseline_on_reference = 106;
  report.baseline_memory.weights_bytes = 7 << 20;
  report.optimised_memory.weights_bytes = 14 << 20;
  const std::string rest = lab_headline(report).rest;
  EXPECT_NE(rest.find("a baseline of which 106 of 151 operators ran on the reference"), std::string::npos);
  EXPECT_NE(rest.find("Its weights take 14.0 MiB instead of 7.00 MiB."), std::string::npos) << rest;
}

// Nothing was kept: there is one model, measured once, and no comparison.
TEST(LabForms, ShowNoResultWhereNothingWasMeasured) {
  analyze::LabReport report = fabricate::resnet_report();
  report.optimised = report.baseline;
  report.result.speedup = {1, 1, 1};
  report.result.pairs = 0;
  for (analyze::PassRow& pass : report.passes) pass.kept = false;
  EXPECT_EQ(lab_headline(report).headline, "Nothing was kept.");
  EXPECT_EQ(lab_headline(report).tone, Tone::kNeutral);
  for (const std::string& form : {lab_markdown(report), lab_html(report), lab_terminal(report, {200, false})})
    for (const char* claim :
         {"1.00×", "interleaved)", "Before and after", "step after", " 0 paired", " 0 pairs"})
      EXPECT_EQ(form.find(claim), std::string::npos) << claim;
}

TEST(LabTerminal, SaysTheBaselinesVerdictAndTheLimitOfTheNumbers) {
  analyze::LabReport report = fabricate::resnet_report();
  report.baseline.verdict.sentence = "No verdict: other programs had the CPUs.";
  const std::string text = lab_terminal(report, {200, false});
  const std::size_t verdict = text.find("Before: No verdict: other programs had the CPUs.");
  EXPECT_LT(verdict, text.find("Before: where the time went"));
  EXPECT_NE(text.find("(limit "), std::string::npos);
}

// A reader divides the two times of the step and finds another speed-up than the one beside them.
TEST(QuotientNote, SaysWhyTheTimesAloneGiveAnotherSpeedUp) {
  analyze::LabReport report = fabricate::resnet_report();
  report.baseline.step.ms = {38.0, 37.8, 38.3};
  report.optimised.step.ms = {17.4, 17.2, 17.6};
  report.result.paired_before_ms = {41.2, 40.9, 41.6};
  report.result.paired_after_ms = {15.5, 15.3, 15.8};
  report.result.speedup = {2.66, 2.60, 2.71};
  const std::string note = quotient_note(report);
  EXPECT_EQ(
      note,
      "The steps recorded between the paired runs are 2.18× (2.15 to 2.23) apart; by the paired runs they "
      "take 41.20 ms and 15.49 ms.");
  EXPECT_NE(lab_terminal(report, {200, false}).find(note), std::string::npos);
  EXPECT_NE(lab_markdown(report).find(note), std::string::npos);
  EXPECT_NE(lab_html(report).find("paired runs are 2.18×"), std::string::npos);
}

// "1.21 × faster" beside 143 → 134 ms.
TEST(LabForms, HeadlineAndTablesAreOfThePairedRunsWithTheirIntervals) {
  analyze::LabReport report = fabricate::resnet_report();
  report.baseline.step.ms = {38.0, 37.8, 38.3};
  report.result.paired_before_ms = {41.2, 40.9, 41.6};
  report.result.paired_after_ms = {15.5, 15.3, 15.8};
  report.result.speedup = {2.66, 2.60, 2.71};
  const std::string terminal = lab_terminal(report, {200, false});
  const std::string table = terminal.substr(terminal.find("Before and after"));
  EXPECT_NE(table.find("step before 40.90 to 41.60 ms, after 15.20 to 15.85 ms"), std::string::npos) << table;
  const std::string html = lab_html(report), markdown = lab_markdown(report);
  EXPECT_NE(markdown.find("Step 41.2 ms (40.9 ms to 41.6 ms) before, 15.5 ms (15.2 ms to 15.8 ms) after"),
            std::string::npos)
      << markdown.substr(0, 1500);
  for (const std::string& form : {html, markdown, table}) {
    EXPECT_NE(form.find("41.2"), std::string::npos);
    EXPECT_NE(form.find("15.49"), std::string::npos);
  }
  EXPECT_EQ(html.find("<b>38.0"), std::string::npos) << "the tile shows the profile's step";
  const Json result = Json::parse(lab_json(report))["result"];
  EXPECT_EQ(result["step_before_ms"]["median"], 41.2);
  double before = 0, after = 0;
  for (const Json& row : result["causes"]) {
    before += row["before_ms"].get<double>();
    after += row["after_ms"].get<double>();
  }
  EXPECT_NEAR(before, 41.2, 1e-6) << "the rows add up to the step";
  EXPECT_NEAR(after, 41.2 / 2.66, 1e-6);
}

TEST(LabForms, OfAnInterruptedExperimentShowWhatThereIsAndSaySo) {
  analyze::LabReport report = fabricate::resnet_report();
  report.interrupted = "measuring layout";
  report.optimised = {};
  report.result = {};
  report.numerics.clear();
  report.passes[3].kept = false;
  report.passes[3].undecided = true;
  const Json json = Json::parse(lab_json(report));
  EXPECT_EQ(json["interrupted"], "measuring layout");
  EXPECT_TRUE(json["result"].is_null());
  EXPECT_TRUE(json["optimised"].is_null());
  EXPECT_TRUE(json["passes"][3]["undecided"]);
  EXPECT_FALSE(json["baseline"]["ledger"].empty());
  for (const std::string& form :
       {lab_html(report), lab_markdown(report), lab_terminal(report, {200, false})}) {
    EXPECT_NE(form.find("Interrupted: a partial report."), std::string::npos) << form.substr(0, 800);
    EXPECT_NE(form.find("While measuring layout"), std::string::npos);
    EXPECT_NE(form.find("undecided"), std::string::npos);
    EXPECT_EQ(form.find("nan"), std::string::npos);
    EXPECT_EQ(form.find("What is left"), std::string::npos);
  }
}

TEST(LabForms, RoofsSayHowOldAndHowSureTheyAre) {
  analyze::LabReport report = fabricate::resnet_report();
  report.roofs_origin = {"2026-11-23T00:00:00Z", 30, 2, 90, 12, {"f32 fma", "DRAM copy"}};
  for (const std::string& form :
       {lab_html(report), lab_markdown(report), lab_terminal(report, {300, false})}) {
    EXPECT_NE(form.find("12 of 90 repetitions were disturbed"), std::string::npos) << form.substr(0, 800);
    EXPECT_NE(form.find("f32 fma, DRAM copy"), std::string::npos);
  }
  const Json origin = Json::parse(lab_json(report))["roofs_origin"];
  EXPECT_EQ(origin["age_hours"], 30);
  EXPECT_EQ(origin["doubtful"].size(), 2u);
}

TEST(QuotientNote, SaysNothingWhereTheRangesMeetOrNothingWasPaired) {
  analyze::LabReport report = fabricate::resnet_report();
  EXPECT_EQ(quotient_note(report), "");
  report.result.speedup = {2.66, 2.60, 2.71};
  EXPECT_NE(quotient_note(report), "");
  report.result.pairs = 0;
  EXPECT_EQ(quotient_note(report), "");
}

TEST(WriteLabReport, LeavesThreeFiles) {
  std::filesystem::path folder = scratch_path("hone_write_report_test");
  std::filesystem::remove_all(folder);
  auto page = write_lab_report(folder / "deeper", fabricate::resnet_report());
  ASSERT_TRUE(page.ok()) << page.error().message;
  for (const char* name : {"report.html", "report.md", "report.json"})
    EXPECT_TRUE(std::filesystem::exists(folder / "deeper" / name)) << name;
  EXPECT_FALSE(write_lab_report("/proc/nowhere", fabricate::resnet_report()).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone::report
