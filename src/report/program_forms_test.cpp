// The forms of the report of a loop on somebody else's program.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/fabricate_program.h"
#include "report/html.h"
#include "report/json.h"
#include "report/program_words.h"
#include "report/terminal.h"
#include "report/text.h"

namespace hone::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProgramForms, SayHowMuchFasterWithWhatAndWhatWasCompared) {
  const analyze::ProgramReport report = fabricate::program_report();
  for (const std::string& form : {program_html(report), program_terminal(report, {200, false})}) {
    EXPECT_THAT(form, HasSubstr("1.60× faster with forward pass and loss under autocast in bf16."));
    EXPECT_THAT(form, HasSubstr("osses of 20 steps"));
    EXPECT_THAT(form, HasSubstr("1.60 times as fast in 12"));
    EXPECT_THAT(form, HasSubstr("exit status 1"));
    EXPECT_THAT(form, HasSubstr("--budget"));
  }
}

TEST(ProgramForms, GiveTheLinesToWriteUnbroken) {
  const analyze::ProgramReport report = fabricate::program_report();
  EXPECT_THAT(
      program_terminal(report, {80, false}),
      HasSubstr("+    with torch.autocast(\"cuda\", dtype=torch.bfloat16):\n+        out = model(x)\n"));
  EXPECT_THAT(program_html(report), HasSubstr("dtype=torch.bfloat16):\n+        out = model(x)"));
}

TEST(ProgramForms, SayTheCommandThatWritesThePatchIntoTheFiles) {
  analyze::ProgramReport report = fabricate::program_report();
  report.patch_folder = "/home/me/my net";
  report.patch_file = "/home/me/lab/changes.diff";
  const std::string command = "patch -d '/home/me/my net' -p1 < /home/me/lab/changes.diff";
  EXPECT_EQ(patch_command(report), command);
  EXPECT_THAT(program_terminal(report, {80, false}), HasSubstr(command + "\n"));
  EXPECT_THAT(program_html(report), HasSubstr("-p1 &lt; /home/me/lab/changes.diff"));
  EXPECT_EQ(nlohmann::json::parse(program_json(report))["patch"]["command"], command);
  report.diff = report.patch_file = "";
  EXPECT_THAT(program_html(report), Not(HasSubstr("-p1")));
}

TEST(ProgramForms, AreOneLineOfWhyWhereNothingWasTried) {
  analyze::ProgramReport report;
  report.command = {"./train"};
  report.baseline = fabricate::device_analysis();
  report.why_nothing = "the steps of the unchanged program could not be measured: it ended after 3 steps";
  for (const std::string& form : {program_html(report), program_terminal(report, {200, false})}) {
    EXPECT_THAT(form, HasSubstr("Nothing was tried."));
    EXPECT_THAT(form, HasSubstr("it ended after 3"));
    EXPECT_THAT(form, Not(HasSubstr("What was tried")));
  }
}

TEST(ProgramForms, TellWhereNothingHelped) {
  analyze::ProgramReport report = fabricate::program_report();
  report.changes[0].outcome = analyze::ChangeOutcome::kNoGain;
  report.together = {};
  report.diff.clear();
  EXPECT_EQ(program_headline(report).headline, "Nothing was kept.");
  EXPECT_EQ(program_headline(report).tone, Tone::kNeutral);
  EXPECT_THAT(program_html(report), Not(HasSubstr("What to write")));
}

TEST(ProgramForms, ShowTheLinesOfWhatIsOfferedApart) {
  analyze::ProgramReport report = fabricate::program_report();
  report.changes[2].outcome = analyze::ChangeOutcome::kOffered;
  report.changes[2].diff = "+batch_size=32 * 2\n";
  for (const std::string& form : {program_html(report), program_terminal(report, {200, false})}) {
    EXPECT_THAT(form, HasSubstr("Offered: batches prepared in other processes"));
    EXPECT_THAT(form, HasSubstr("+batch_size=32 * 2"));
  }
  EXPECT_THAT(report.diff, Not(HasSubstr("batch_size")));
}

TEST(ProgramForms, SayInWordsWhatIsToBeWrittenWhereNoPlaceIsKnown) {
  analyze::ProgramReport report = fabricate::program_report();
  report.changes[0].diff.clear();
  report.changes[0].did = "it is compiled; write self.net.compile() once; no patch does: a library calls it";
  EXPECT_THAT(program_terminal(report, {200, false}), HasSubstr("nothing is in the patch: it is compiled"));
  for (const std::string& form : {program_html(report), program_terminal(report, {200, false})}) {
    EXPECT_THAT(form, HasSubstr("self.net.compile()"));
    EXPECT_THAT(form, HasSubstr("a library calls it"));
  }
}

TEST(ProgramForms, TellNoSpreadAndNoIntervalWhereNothingRanTwice) {
  analyze::ProgramReport report = fabricate::program_report();
  EXPECT_THAT(program_terminal(report, {200, false}), HasSubstr("vary by 1.2 % (standard deviation)"));
  report.noise.reset();
  report.together = fabricate::paired_steps(40, 1.6, 1);
  report.together.speedup = {1.6, 1.6, 1.6};
  report.together.has_interval = false;
  const std::string text = program_terminal(report, {200, false});
  EXPECT_THAT(text, HasSubstr("none was timed twice, so how far runs of the same vary is not known"));
  EXPECT_THAT(text, Not(HasSubstr("15.00 to 15.00")));
  EXPECT_THAT(program_html(report), HasSubstr("1 pair of runs, without an interval"));
  const auto json = nlohmann::json::parse(program_json(report));
  EXPECT_TRUE(json["noise"].is_null());
  EXPECT_TRUE(json["together"]["speedup_interval"].is_null());
}

TEST(ProgramForms, SayWhereTheLedgerIsOfAnotherStepThanTheHeadline) {
  analyze::ProgramReport report = fabricate::program_report();
  report.baseline.step.ms = {40.2, 39.9, 40.5};
  EXPECT_THAT(program_terminal(report, {200, false}), Not(HasSubstr("of another step")));
  report.baseline.step.ms = {21.19, 19.59, 24.09};
  const std::string text = program_terminal(report, {400, false});
  EXPECT_THAT(text, HasSubstr("it took 21.19 ms while the baseline was recorded"));
  EXPECT_THAT(text, HasSubstr("and 40.10 ms in the runs of the loop"));
  report.baseline.step.ms = {30, 20, 50};
  EXPECT_THAT(program_terminal(report, {200, false}), Not(HasSubstr("of another step"))) << "they overlap";
}

// Programs read what earlier versions wrote under the same names.
TEST(ProgramForms, JsonHoldsTheTimesTheOutcomesAndTheDiff) {
  const auto json = nlohmann::json::parse(program_json(fabricate::program_report()));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["step_ms"], 40);
  EXPECT_EQ(json["changes"][0]["outcome"], "kept");
  EXPECT_EQ(json["changes"][0]["gain_ms"], 15);
  EXPECT_EQ(json["changes"][0]["measured_gain_ms"]["high"], 15.8);
  EXPECT_EQ(json["changes"][0]["runs"]["before_ms"].size(), 12u);
  EXPECT_TRUE(json["changes"][0]["runs"]["within_one_run"]);
  EXPECT_EQ(json["changes"][1]["outcome"], "failed");
  EXPECT_TRUE(json["changes"][1]["gain_ms"].is_null());
  EXPECT_TRUE(json["changes"][2]["predicted_gain_ms"].is_null()) << "nothing is no gain of 0";
  EXPECT_EQ(json["changes"][2]["why_not_predicted"], "asked for with --try");
  EXPECT_EQ(json["together"]["speedup"], 1.6);
  EXPECT_EQ(json["losses"]["changed"].size(), 20u);
  EXPECT_EQ(json["diff"], json["changes"][0]["diff"]);
}

TEST(ProgramForms, LetNothingOfTheProgramsThrough) {
  analyze::ProgramReport report = fabricate::program_report();
  const std::string hostile = "</code><script>alert(1)</script>\x1b[31m\xff";
  report.command = {hostile};
  report.changes[0].why = report.changes[0].because = report.diff = hostile;
  report.changed_losses[3] = std::nan("");
  const std::string page = program_html(report), terminal = program_terminal(report, {96, false});
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(terminal, Not(HasSubstr("\x1b")));
  EXPECT_TRUE(nlohmann::json::accept(program_json(report)));
}

TEST(ProgramForms, TerminalFitsItsWidthButForTheLinesToCopy) {
  analyze::ProgramReport report = fabricate::program_report();
  report.diff.clear();
  std::istringstream lines(program_terminal(report, {80, false}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 80u) << line;
}

}  // namespace
}  // namespace hone::report
