// A comparison of two recordings in each of its forms.
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

}  // namespace
}  // namespace hone::report
