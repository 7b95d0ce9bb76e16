// The report in each of its forms: the contract of the JSON, widths of the terminal, and that names out of a
// model stay text everywhere.
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "report/fabricate_report.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/terminal.h"
#include "report/text.h"
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
                           "max_rel_err", "arena_bytes"})
    EXPECT_TRUE(json["passes"][0].contains(name)) << name;
  EXPECT_TRUE(json["passes"][5]["measured_gain_ms"].is_null());
  for (const char* name : {"passes", "predicted_gain_ms", "measured_gain_ms", "kept", "reason"})
    EXPECT_TRUE(json["combinations"][0].contains(name)) << name;
  EXPECT_TRUE(json["result"]["passed"]);
  EXPECT_TRUE(json["result"]["predicted_gain_ms"].is_number());
  EXPECT_TRUE(json["result"]["measured_gain_ms"]["median"].is_number());
  EXPECT_EQ(json["phases"][1], (Json{{"name", "choosing kernels"}, {"seconds", 4.25}}));
  EXPECT_GT(json["result"]["speedup"]["median"], 1);
}

TEST(ExplainJson, KeepsItsContract) {
  Json json = Json::parse(explain_json(fabricate::resnet_report().baseline));
  for (const char* name : {"schema", "source", "ranks", "step", "floor_ms", "ledger", "top", "verdict",
                           "findings", "metrics", "warnings"})
    EXPECT_TRUE(json.contains(name)) << name;
  for (const char* name : {"count", "median_ms", "low_ms", "high_ms", "how_found"})
    EXPECT_TRUE(json["step"].contains(name)) << name;
  EXPECT_EQ(json["verdict"], "avoidable_traffic");
}

TEST(CompareJson, Parses) {
  analyze::LabReport report = fabricate::resnet_report();
  Json json = Json::parse(compare_json(analyze::compare(report.baseline, report.optimised)));
  EXPECT_TRUE(json["sure"]);
  EXPECT_GT(json["ratio"], 1);
}

TEST(Json, SurvivesHostileNamesAndNumbers) {
  analyze::LabReport report = fabricate::hostile_report();
  report.result.max_rel_err = std::nan("");
  Json json = Json::parse(lab_json(report));
  EXPECT_TRUE(json["result"]["max_rel_err"].is_null());
}

TEST(Terminal, FitsItsWidthAndLetsNoControlCharacterThrough) {
  for (const analyze::LabReport& report : {fabricate::resnet_report(), fabricate::hostile_report()})
    for (std::size_t width : {std::size_t{80}, std::size_t{100}}) {
      TerminalStyle style{width, false};
      std::string all = lab_terminal(report, style) + explain_terminal(report.baseline, style) +
                        compare_terminal(analyze::compare(report.baseline, report.optimised), style);
      EXPECT_EQ(all.find('\x1b'), std::string::npos);
      std::istringstream lines(all);
      for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), width) << line;
    }
}

TEST(Terminal, ColoursOnlyWhenAsked) {
  analyze::LabReport report = fabricate::resnet_report();
  EXPECT_NE(lab_terminal(report, {96, true}).find("\x1b[32m"), std::string::npos);
}

// The headline's "instead of" is nobody's time but hone's own without passes.
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

TEST(Html, EscapesEveryName) {
  analyze::LabReport report = fabricate::hostile_report();
  for (const std::string& page : {lab_html(report), explain_html(report.baseline, report.roofs)}) {
    EXPECT_EQ(page.find("<script>alert"), std::string::npos);
    EXPECT_EQ(page.find("<img"), std::string::npos);
    EXPECT_EQ(page.find('\x1b'), std::string::npos);
    EXPECT_EQ(page.find('\xff'), std::string::npos);
  }
}

TEST(Html, StandsAlone) {
  std::string page = lab_html(fabricate::resnet_report());
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  EXPECT_LT(page.size(), std::size_t{600'000});
}

TEST(Html, HasNothingButNumbersInItsDrawings) {
  analyze::LabReport report = fabricate::resnet_report();
  std::string page = lab_html(report);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("=\"inf"), std::string::npos);
}

TEST(Forms, DrawAnEmptyReport) {
  analyze::LabReport report;
  EXPECT_FALSE(lab_html(report).empty());
  EXPECT_FALSE(lab_terminal(report, {}).empty());
  EXPECT_FALSE(lab_markdown(report).empty());
  EXPECT_TRUE(Json::accept(lab_json(report)));
  EXPECT_EQ(lab_html(report).find("nan"), std::string::npos);
}

TEST(Markdown, KeepsTablesWholeWhateverTheNames) {
  std::string text = lab_markdown(fabricate::hostile_report());
  std::istringstream lines(text);
  std::size_t cells = 0;
  for (std::string line; std::getline(lines, line);) {
    bool outside_code = line.rfind("    ", 0) != 0;  // of an indented block or of `backticks`
    for (std::size_t i = 0; i < line.size() && line.rfind("    ", 0) != 0; ++i) {
      if (line[i] == '`' && (i == 0 || line[i - 1] != '\\')) outside_code = !outside_code;
      EXPECT_FALSE(outside_code && line[i] == '<' && (i == 0 || line[i - 1] != '\\')) << line;
    }
    if (line.rfind("| ", 0) != 0) {
      cells = 0;
      continue;
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < line.size(); ++i)
      count += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
    if (cells == 0) cells = count;
    EXPECT_EQ(count, cells) << line;
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

TEST(LabVerdict, ClaimsNoMoreThanWasMeasured) {
  analyze::LabReport report = fabricate::resnet_report();
  EXPECT_TRUE(lab_verdict(report).good);
  report.result.speedup = {1.004, 0.996, 1.012};
  EXPECT_EQ(lab_verdict(report).headline, "No difference.");
  report.result.speedup = {0.8, 0.78, 0.82};
  EXPECT_NE(lab_verdict(report).headline.find("slower"), std::string::npos);
  report.result.passed = false;
  EXPECT_EQ(lab_verdict(report).headline, "Not accepted.");
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
