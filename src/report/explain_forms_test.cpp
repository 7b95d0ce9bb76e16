// An explanation in each of its forms: the contract of its JSON, and what each form shows of a device.
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/device_words.h"
#include "report/fabricate_device.h"
#include "report/fabricate_report.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/terminal.h"
#include "report/words.h"

namespace hone::report {
namespace {

using Json = nlohmann::json;

TEST(ExplainJson, KeepsItsContract) {
  Json json = Json::parse(explain_json(fabricate::resnet_report().baseline));
  for (const char* name : {"schema", "source", "ranks", "step", "floor_ms", "ledger", "top", "verdict",
                           "findings", "metrics", "warnings"})
    EXPECT_TRUE(json.contains(name)) << name;
  for (const char* name : {"count", "median_ms", "low_ms", "high_ms", "how_found"})
    EXPECT_TRUE(json["step"].contains(name)) << name;
  EXPECT_EQ(json["verdict"], "avoidable_traffic");
}

TEST(ExplainJson, HasEveryTableOfADevicesAnalysis) {
  const Json json = Json::parse(explain_json(fabricate::device_analysis()));
  double sum = 0;
  for (const Json& row : json["ledger"]) sum += row["ms"].get<double>();
  EXPECT_NEAR(sum, json["step"]["median_ms"], 0.005 * sum);
  EXPECT_EQ(json["ranks"], (Json{0, 1}));
  EXPECT_EQ(json["step"]["notes"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["launches"], 72);
  EXPECT_EQ(json["kernels"][2]["main_cause"], "comm");
  EXPECT_EQ(json["targets"][0]["target"], 90);
  EXPECT_TRUE(json["targets"][3]["target"].is_null());
  EXPECT_EQ(json["phases"][1]["phase"], "backward");
  EXPECT_EQ(json["rank_summaries"][1]["clock_shift_us"], 12.5);
  EXPECT_EQ(json["collectives"][0]["roof_bytes_per_s"], 368e9);
  EXPECT_EQ(json["critical_path"][1]["kind"], "kernel");
  EXPECT_EQ(json["coverage"]["unlinked_kernels"], 4);
  EXPECT_EQ(json["operators"][0]["class"], "matrix");
  EXPECT_TRUE(Json::parse(explain_json(analyze::Analysis{}))["coverage"].is_null());
}

TEST(Forms, ShowKernelsUnderTheCounters) {
  const analyze::Analysis analysis = fabricate::device_analysis();
  const Json json = Json::parse(explain_json(analysis));
  ASSERT_EQ(json["counted_kernels"].size(), 1u);
  EXPECT_EQ(json["counted_kernels"][0]["findings"][0]["rule"], "uncoalesced");
  EXPECT_EQ(json["counted_kernels"][0]["figures"][1]["value"], 32);
  const std::string page = explain_html(analysis, fabricate::device_roofs());
  const std::string markdown = explain_markdown(analysis), terminal = explain_terminal(analysis, {});
  for (const std::string& form : {page, markdown, terminal}) {
    EXPECT_NE(form.find("Kernels under the counters"), std::string::npos);
    EXPECT_NE(form.find("transpose through a tile"), std::string::npos);
    EXPECT_NE(form.find("12.5"), std::string::npos);
    EXPECT_NE(form.find("sectors a store"), std::string::npos);
    EXPECT_NE(form.find("504"), std::string::npos);
  }
  EXPECT_EQ(explain_terminal(analyze::Analysis{}, {}).find("counters"), std::string::npos);
}

TEST(Forms, ShowTheHotLinesOfAKernel) {
  const analyze::Analysis analysis = fabricate::device_analysis();
  const Json kernel = Json::parse(explain_json(analysis))["counted_kernels"][0];
  EXPECT_EQ(kernel["samples"], 20'412);
  EXPECT_EQ(kernel["lines"][0]["file"], "/home/anna/transpose.cu");
  EXPECT_EQ(kernel["lines"][0]["line"], 17);
  EXPECT_EQ(kernel["lines"][0]["stall"], "long_scoreboard");
  const std::string page = explain_html(analysis, fabricate::device_roofs());
  for (const std::string& form : {page, explain_markdown(analysis), explain_terminal(analysis, {})}) {
    EXPECT_NE(form.find("Hot lines, of 20412 samples"), std::string::npos) << form;
    EXPECT_NE(form.find("transpose.cu:17"), std::string::npos);
    EXPECT_NE(form.find("61.0 %"), std::string::npos);
    EXPECT_NE(form.find("waiting for data from global or local memory"), std::string::npos);
    EXPECT_NE(form.find("out[y * n + x] = in[x * n + y];"), std::string::npos);
    EXPECT_NE(form.find("issued, not waiting"), std::string::npos);
    EXPECT_EQ(form.find("-lineinfo"), std::string::npos);
  }
}

TEST(Forms, SayWhyAKernelHasNoLines) {
  analyze::Analysis analysis = fabricate::device_analysis();
  analyze::CountedKernel& kernel = analysis.counted_kernels.front();
  kernel.line_info = "none";
  for (analyze::HotLine& line : kernel.lines) line.file.clear(), line.source.clear(), line.line = 0;
  const std::string page = explain_html(analysis, fabricate::device_roofs());
  for (const std::string& form : {page, explain_markdown(analysis), explain_terminal(analysis, {})}) {
    EXPECT_NE(form.find("Hot instructions, of 20412 samples"), std::string::npos);
    EXPECT_NE(form.find("transpose_naive + 0xf0"), std::string::npos);
    EXPECT_NE(form.find("-lineinfo"), std::string::npos);
  }
}

TEST(Gains, AreSharesOfTheStepThatTheReportSpeaksOf) {
  analyze::Analysis analysis;
  analysis.step.ms = {10, 10, 10};
  EXPECT_EQ(gained_from_ms(analysis), 10);
  analysis.step.unrecorded_ms = {9.6, 9.5, 9.7};  // no word is said of that little
  EXPECT_EQ(gained_from_ms(analysis), 10);
  analysis.step.unrecorded_ms = {6, 5, 7};
  EXPECT_EQ(gained_from_ms(analysis), 6);
}

TEST(ExplainJson, HasTheNumbersOfItsSentences) {
  analyze::Analysis analysis = fabricate::device_analysis();
  analysis.step.unrecorded_ms = {21.1, 20.6, 22.4};
  analysis.left_out = {{3, "another run"}};
  analysis.world_size = 4;
  analysis.late_rank = {1, analyze::Cause::kInput, 20.06, 20.3, 0};
  analysis.findings.front().ms = 7.7;
  analysis.findings.front().parts = {{"aten::item", 7.1, 148}};
  const Json json = Json::parse(explain_json(analysis));
  EXPECT_EQ(json["step"]["unrecorded_ms"]["low"], 20.6);
  EXPECT_EQ(json["step"]["confidence"], 1);
  EXPECT_EQ(json["left_out"][0]["rank"], 3);
  EXPECT_EQ(json["world_size"], 4);
  EXPECT_EQ(json["late_rank"]["cause"], "input");
  EXPECT_EQ(json["late_rank"]["longer_ms"], 20.06);
  EXPECT_EQ(json["findings"][0]["ms"], 7.7);
  EXPECT_EQ(json["findings"][0]["parts"][0]["count"], 148);
  EXPECT_TRUE(Json::parse(explain_json(analyze::Analysis{}))["late_rank"].is_null());
}

TEST(Forms, ShowWhereTheLateRankDiffers) {
  analyze::Analysis analysis = fabricate::device_analysis();
  const std::string page = explain_html(analysis, fabricate::device_roofs());
  EXPECT_NE(page.find("Where rank 1 differs from rank 0"), std::string::npos);
  EXPECT_NE(page.find("data-from=\"600000\" data-for=\"200000\"><code"), std::string::npos);
  EXPECT_NE(page.find("on rank 0: 16×768"), std::string::npos);
  EXPECT_NE(explain_markdown(analysis).find("Where rank 1 differs from rank 0"), std::string::npos);
  const Json json = Json::parse(explain_json(analysis));
  ASSERT_EQ(json["late_rank"]["operators"].size(), 3u);
  EXPECT_EQ(json["late_rank"]["operators"][0]["late_calls"], 6);
  EXPECT_TRUE(json["late_rank"]["operators"][0]["shown_name"].is_null());
  EXPECT_EQ(json["late_rank"]["operators"][1]["shown_ms"], 4.1);
  EXPECT_EQ(json["elsewhere"][0]["ranks"], Json{1});
  EXPECT_TRUE(json["operators"][0]["calls"].is_null());  // not counted
  analysis.late_rank->operators.clear();
  EXPECT_EQ(explain_html(analysis, {}).find("differs from rank"), std::string::npos);
  EXPECT_EQ(explain_markdown(analysis).find("differs from rank"), std::string::npos);
}

// Evidence that names what the late rank does leads to that rank's stream.
TEST(Page, LeadsFromAStragglerToWhatItDoes) {
  const std::string page = explain_html(fabricate::device_analysis(), fabricate::device_roofs());
  EXPECT_NE(page.find("data-from=\"600000\" data-for=\"200000\">mm 512×512"), std::string::npos);
}

TEST(ExplainHtml, TellsTheShareOfComputingWhereTheDeviceIsBusyWithoutIt) {
  analyze::Analysis analysis = fabricate::device_analysis();
  analysis.targets = {{"gpu_busy_share", "GPU busy", 99.6, "%", 95.0, true, "", ""},
                      {"gpu_compute_share", "GPU computing", 52.3, "%", 85.0, true, "", ""}};
  const auto tiles = [&] {
    const std::string page = explain_html(analysis, {});
    const std::size_t from = page.find("class=\"tiles\"");
    return page.substr(from, page.find("</nav>", from) - from);
  };
  EXPECT_NE(tiles().find("GPU computing"), std::string::npos);
  EXPECT_EQ(tiles().find("GPU busy"), std::string::npos);
  analysis.targets[1].value = 90;
  EXPECT_NE(tiles().find("GPU busy"), std::string::npos);
}

TEST(ExplainHtml, BreaksNamesOfOperatorsWhereTheyHaveParts) {
  analyze::Analysis analysis = fabricate::device_analysis();
  ASSERT_FALSE(analysis.top.empty());
  analysis.top[0].name = "features.14.conv.0.1/BatchNormalization";
  EXPECT_NE(explain_html(analysis, {}).find("/<wbr>BatchNormalization</code>"), std::string::npos);
}

TEST(Page, ShowsNoRecoverableTimeWithoutAVerdict) {
  analyze::Analysis analysis = fabricate::device_analysis();
  EXPECT_EQ(explain_html(analysis, {}).find("no verdict"), std::string::npos);
  analysis.verdict = {};
  analysis.verdict.judged = analysis.verdict.given = false;
  EXPECT_NE(explain_html(analysis, {}).find("no verdict"), std::string::npos);
}

TEST(Unjudged, IsNeitherHealthyNorAtItsFloor) {
  const analyze::Analysis analysis = fabricate::unjudged_analysis();
  const std::string terminal = explain_terminal(analysis, {96, false});
  EXPECT_NE(terminal.find("busy, not judged"), std::string::npos) << terminal;
  EXPECT_EQ(terminal.find("floor"), std::string::npos) << terminal;
  const Json json = Json::parse(explain_json(analysis));
  EXPECT_EQ(json["verdict"], "unjudged");
  EXPECT_FALSE(json["floor_known"]);
  EXPECT_NE(explain_html(analysis, Roofs{}).find("busy, not judged"), std::string::npos);
  EXPECT_NE(explain_markdown(analysis).find("busy, not judged"), std::string::npos);
}

TEST(Forms, SayOfImpossibleNumbersThatTheyAre) {
  analyze::Analysis analysis = fabricate::device_analysis();
  analyze::Metric metric;
  metric.label = "MFU";
  metric.value = 129;
  metric.unit = "%";
  metric.target = 40;
  metric.doubt = "above 100 %: the roof is too low";
  analysis.targets = {metric};
  EXPECT_FALSE(metric.reached());
  for (const std::string& form : {explain_terminal(analysis, {96, false}), explain_markdown(analysis),
                                  explain_html(analysis, fabricate::device_roofs())}) {
    EXPECT_NE(form.find("doubtful"), std::string::npos);
    EXPECT_NE(form.find("the roof is too low"), std::string::npos);
  }
}

// What to do stands in the headline, with what it wins; why, below it.
TEST(Forms, NameTheActionInTheirHeadline) {
  const analyze::Analysis analysis = fabricate::device_analysis();
  EXPECT_EQ(headline_action(analysis),
            "Keep the loss on the device: wins about 7.10 ms of the 29.80 ms step");
  EXPECT_NE(explain_html(analysis, {}).find("<p class=\"verdict\">Keep the loss on the device: wins"),
            std::string::npos);
  EXPECT_NE(explain_markdown(analysis).find("**Keep the loss on the device: wins"), std::string::npos);
  EXPECT_EQ(headline_action(fabricate::unjudged_analysis()), "");
}

// Within the first lines, before any number: what to change.
TEST(Terminal, BeginsWithTheVerdictAndWhatToDo) {
  const analyze::Analysis analysis = fabricate::device_analysis();
  std::istringstream lines(explain_terminal(analysis, {96, false}));
  std::string first;
  int count = 0;
  for (std::string line; std::getline(lines, line) && count < 7; ++count) first += line + "\n";
  EXPECT_NE(first.find("→ keep the loss on the device"), std::string::npos) << first;
}

TEST(Page, SaysHowManyLanesAreNotDrawnAndWhatTheirColoursAre) {
  analyze::Analysis analysis = fabricate::device_analysis();
  analysis.timeline_left_out = 4093;
  const std::string page = explain_html(analysis, fabricate::device_roofs());
  EXPECT_NE(page.find("more threads and streams are not drawn"), std::string::npos);
  EXPECT_NE(page.find("waiting for the device"), std::string::npos);
  EXPECT_NE(page.find("kind-comm"), std::string::npos);
}

TEST(Page, SaysWhatTheColoursOfIdleTimeAreAndWhereTheOtherStepsAre) {
  analyze::Analysis analysis = fabricate::device_analysis();
  analysis.subject = analyze::Subject::kDeviceProgram;
  const std::string page = explain_html(analysis, fabricate::device_roofs());
  EXPECT_NE(page.find("idle: host sync"), std::string::npos);
  EXPECT_EQ(page.find("idle: input"), std::string::npos);  // there is none
  EXPECT_NE(page.find("The slowest of the 9"), std::string::npos);
  EXPECT_NE(
      page.find(
          "data-from=\"0\" data-for=\"250000\"><code class=\"inline\">aten::item</code></a>: 148 waits"),
      std::string::npos);
}

// A stranger reads no further than a screen: 40 lines.
TEST(Terminal, SaysWhatToChangeOnItsFirstScreen) {
  const std::string all = explain_terminal(fabricate::device_analysis(), {96, false});
  EXPECT_GT(all.find("warm-up"), all.find("About these steps"));
  std::istringstream lines(all);
  std::string screen;
  for (std::string line; std::count(screen.begin(), screen.end(), '\n') < 40 && std::getline(lines, line);)
    screen += line + "\n";
  for (const char* said : {"The device waits for the host", "NVIDIA H200", "2 ranks", "9 steps of 29.80 ms",
                           "host sync", "7.70 ms", "1. keep the loss on the device",
                           "wins about 7.10 ms, 23.8 % of the step", "148 calls of aten::item"})
    EXPECT_NE(screen.find(said), std::string::npos) << said << "\n" << screen;
}

}  // namespace
}  // namespace hone::report
