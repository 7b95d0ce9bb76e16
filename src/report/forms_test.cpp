// The report in each of its forms: the contract of the JSON, widths of the terminal, and that names out of a
// model stay text everywhere.
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "report/device_words.h"
#include "report/fabricate_device.h"
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

TEST(Forms, CompareKernelsCounterByCounter) {
  analyze::Analysis first = fabricate::device_analysis(), second = first;
  analyze::CountedKernel& kernel = second.counted_kernels.front();
  kernel.us = 92;
  kernel.figures[1].value = 4;
  kernel.lines[0].line = 21;
  kernel.findings.clear();
  const analyze::Comparison comparison = analyze::compare(first, second);
  const Json json = Json::parse(compare_json(comparison));
  EXPECT_EQ(json["kernels"][0]["mended"], Json{"uncoalesced"});
  EXPECT_EQ(json["kernels"][0]["figures"][1]["b"], 4);
  for (const std::string& form : {compare_html(comparison), compare_terminal(comparison, {})}) {
    EXPECT_NE(form.find("uncoalesced is gone"), std::string::npos) << form;
    EXPECT_NE(form.find("sectors a store"), std::string::npos);
    EXPECT_NE(form.find("×0.125"), std::string::npos);
    EXPECT_NE(form.find("ottest line"), std::string::npos);
    EXPECT_NE(form.find("transpose.cu:21"), std::string::npos);
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

TEST(Comparisons, ShowWhatOnlyOtherRanksRun) {
  analyze::Analysis repaired = fabricate::device_analysis();
  repaired.elsewhere.clear();
  const analyze::Comparison comparison = analyze::compare(fabricate::device_analysis(), repaired);
  const std::string terminal = compare_terminal(comparison, {96, false});
  EXPECT_NE(terminal.find("rank 1: mm 512×512"), std::string::npos) << terminal;
  for (const std::string& form : {terminal, compare_html(comparison), compare_markdown(comparison)})
    EXPECT_NE(form.find("Only on ranks that are not shown"), std::string::npos);
  const Json json = Json::parse(compare_json(comparison));
  EXPECT_EQ(json["elsewhere"][0]["a_ranks"], Json{1});
  EXPECT_EQ(json["elsewhere"][0]["b_ranks"], Json::array());
  EXPECT_EQ(json["elsewhere"][0]["a_ms"], 0.9);
  EXPECT_EQ(json["a_rank"], 0);
  EXPECT_EQ(compare_terminal(analyze::compare(repaired, repaired), {96, false}).find("not shown"),
            std::string::npos);
}

TEST(Comparisons, ShowWhatWasFoundInEitherRunByRule) {
  analyze::Comparison comparison =
      analyze::compare(fabricate::device_analysis(), fabricate::device_analysis());
  comparison.findings = {{"unfused_optimizer", analyze::Cause::kAvoidableTraffic, 4.2, 0, 3, 0},
                         {"host_waits", analyze::Cause::kHostSync, 0, 1.5, 0, 1},
                         {"slow_launches", analyze::Cause::kLaunch, 2, 2.5, 1, 1}};
  for (const std::string& form :
       {compare_terminal(comparison, {96, false}), compare_html(comparison), compare_markdown(comparison)}) {
    EXPECT_NE(form.find("unfused optimizer (gone)"), std::string::npos) << form;
    EXPECT_NE(form.find("host waits (new)"), std::string::npos) << form;
    EXPECT_NE(form.find("slow launches"), std::string::npos) << form;
  }
  comparison.findings.clear();
  EXPECT_EQ(compare_terminal(comparison, {96, false}).find("By finding"), std::string::npos);
  EXPECT_EQ(compare_html(comparison).find("By finding"), std::string::npos);
}

TEST(Comparisons, ListOperatorsThatChangeAndSayByHowMuchEqualProgramsDiffer) {
  analyze::Comparison comparison =
      analyze::compare(fabricate::device_analysis(), fabricate::device_analysis());
  ASSERT_FALSE(comparison.operators.empty());
  for (const std::string& form : {compare_terminal(comparison, {96, false}), compare_html(comparison)})
    EXPECT_NE(form.find("No operator changes by 0.1 % of the step"), std::string::npos) << form;
  comparison.operators[0].b_ms += 5;
  EXPECT_EQ(changed_operators(comparison), 1u);
  EXPECT_NE(compare_terminal(comparison, {96, false}).find("+5.00 ms"), std::string::npos);
  comparison.difference.sure = true;  // of these steps
  comparison.drift = 0.25;
  EXPECT_NE(compare_html(comparison).find("recordings differ by up to 25"), std::string::npos);
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

TEST(CompareJson, Parses) {
  analyze::LabReport report = fabricate::resnet_report();
  Json json = Json::parse(compare_json(analyze::compare(report.baseline, report.optimised)));
  EXPECT_TRUE(json["sure"]);
  EXPECT_GT(json["ratio"], 1);
}

TEST(Comparisons, SayWhatToDoAboutEachSide) {
  analyze::Comparison comparison =
      analyze::compare(fabricate::device_analysis(), fabricate::device_analysis());
  comparison.a_advice = {"use <fewer> steps", 5, true, false};
  comparison.b_advice = {"use one graph", 7, false, true};
  comparison.a_ms.median = 20;
  const std::string terminal = compare_terminal(comparison, {96, false});
  EXPECT_NE(terminal.find("    → use <fewer> steps (at most 5.00 ms of that)\n"), std::string::npos)
      << terminal;
  EXPECT_NE(terminal.find("    → use one graph\n"), std::string::npos) << terminal;
  const std::string page = compare_html(comparison);
  EXPECT_NE(page.find("</b>use &lt;fewer&gt; steps (at most 5.00"), std::string::npos);
  EXPECT_NE(page.find("</b>use one graph"), std::string::npos);
  EXPECT_NE(compare_markdown(comparison).find("What to do: use one graph"), std::string::npos);
  const Json json = Json::parse(compare_json(comparison));
  EXPECT_EQ(json["a_advice"]["predicted_gain_ms"], 5);
  EXPECT_EQ(json["a_advice"]["gain_is_bound"], true);
  EXPECT_EQ(json["b_advice"]["fix"], "use one graph");
  EXPECT_EQ(json["compared"], true);
  comparison.b_advice = {};
  EXPECT_TRUE(Json::parse(compare_json(comparison))["b_advice"].is_null());
}

TEST(Page, BreaksLongPathsWhereAReaderWouldAndCodeNowhere) {
  analyze::Comparison comparison =
      analyze::compare(fabricate::device_analysis(), fabricate::device_analysis());
  comparison.a = "recordings/of/two/runs/trace.json.gz";
  comparison.a_advice.fix = "model.to(memory_format=torch.channels_last) or a/b";
  const std::string page = compare_html(comparison);
  EXPECT_NE(page.find("recordings/<wbr>of/<wbr>two/<wbr>runs/<wbr>trace.<wbr>json.<wbr>gz"),
            std::string::npos);
  EXPECT_NE(page.find("<code class=\"inline\">model.to(memory_format=torch.channels_last)</code> or a/b"),
            std::string::npos);
}

TEST(Page, ShowsNoRecoverableTimeWithoutAVerdict) {
  analyze::Analysis analysis = fabricate::device_analysis();
  EXPECT_EQ(explain_html(analysis, {}).find("no verdict"), std::string::npos);
  analysis.verdict = {};
  analysis.verdict.judged = analysis.verdict.given = false;
  EXPECT_NE(explain_html(analysis, {}).find("no verdict"), std::string::npos);
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

analyze::Analysis unjudged() {
  analyze::Analysis analysis;
  analysis.subject = analyze::Subject::kHostProgram;
  analysis.step = {{5, 5, 5}, 1, {5}, "ProfilerStep ranges", {}};
  analysis.floor_known = false;
  analysis.verdict.judged = false;
  analysis.verdict.sentence = "Not judged: no roofs.";
  analyze::LedgerRow row;
  row.ms = 5;
  row.share = 1;
  analysis.ledger = {row};
  analyze::TopOperator top;
  top.rank = 1;
  top.name = "autograd::engine::evaluate_function: ConvolutionBackward0";
  top.kind = top.name;
  top.roof = "unknown";
  analysis.top = {top};
  return analysis;
}

TEST(Unjudged, IsNeitherHealthyNorAtItsFloor) {
  const analyze::Analysis analysis = unjudged();
  const std::string terminal = explain_terminal(analysis, {96, false});
  EXPECT_NE(terminal.find("busy, not judged"), std::string::npos) << terminal;
  EXPECT_EQ(terminal.find("floor"), std::string::npos) << terminal;
  const Json json = Json::parse(explain_json(analysis));
  EXPECT_EQ(json["verdict"], "unjudged");
  EXPECT_FALSE(json["floor_known"]);
  EXPECT_NE(explain_html(analysis, Roofs{}).find("busy, not judged"), std::string::npos);
  EXPECT_NE(explain_markdown(analysis).find("busy, not judged"), std::string::npos);
}

TEST(Terminal, WritesSingularsAndWholeNames) {
  const std::string terminal = explain_terminal(unjudged(), {96, false});
  EXPECT_NE(terminal.find("The operator that takes the most time"), std::string::npos) << terminal;
  EXPECT_NE(terminal.find("1 step of"), std::string::npos);
  EXPECT_EQ(terminal.find("1 steps"), std::string::npos);
  EXPECT_NE(terminal.find("ConvolutionBackward0"), std::string::npos);  // not "autograd::eng…onBackward0"
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
  EXPECT_EQ(headline_action(unjudged()), "");
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

TEST(Terminal, KeepsItsWidthForDevicesToo) {
  for (const analyze::Analysis& analysis :
       {fabricate::device_analysis(), fabricate::hostile_device_analysis()})
    for (std::size_t width : {std::size_t{80}, std::size_t{100}}) {
      const std::string all = explain_terminal(analysis, {width, false});
      EXPECT_EQ(all.find('\x1b'), std::string::npos);
      std::istringstream lines(all);
      for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), width) << line;
    }
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

TEST(Html, EscapesEveryName) {
  analyze::LabReport report = fabricate::hostile_report();
  for (const std::string& page : {lab_html(report), explain_html(report.baseline, report.roofs),
                                  explain_html(fabricate::hostile_device_analysis(), report.roofs)}) {
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

// A step of 200,000 bars: merged until the page is small enough, and the page says so.
TEST(Html, StaysSmallHoweverLongTheTimeline) {
  analyze::Analysis analysis = fabricate::device_analysis();
  const std::vector<analyze::TimelineSpan> bars = analysis.timeline;
  while (analysis.timeline.size() < 200'000) {
    const double shift = 1e-4 * static_cast<double>(analysis.timeline.size());
    for (analyze::TimelineSpan bar : bars) {
      bar.start_ms = bar.start_ms / 400 + shift;
      bar.ms /= 400;
      analysis.timeline.push_back(bar);
    }
  }
  const std::string page = explain_html(analysis, fabricate::device_roofs());
  EXPECT_LT(page.size(), std::size_t{5'000'000});
  EXPECT_NE(page.find("are merged with their neighbours"), std::string::npos);
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
  EXPECT_FALSE(explain_markdown({}).empty());
  EXPECT_FALSE(explain_terminal({}, {}).empty());
  EXPECT_TRUE(Json::accept(explain_json({})));
  EXPECT_TRUE(Json::accept(lab_json(report)));
  EXPECT_EQ(lab_html(report).find("nan"), std::string::npos);
}

TEST(Markdown, KeepsTablesWholeWhateverTheNames) {
  std::istringstream lines(lab_markdown(fabricate::hostile_report()) +
                           explain_markdown(fabricate::hostile_device_analysis()));
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
