// What all forms of the report have in common: widths of the terminal, and that names out of a model stay text everywhere.
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/fabricate_device.h"
#include "report/fabricate_report.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/terminal.h"
#include "report/text.h"

namespace hone::report {
namespace {

using Json = nlohmann::json;

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

TEST(Terminal, WritesSingularsAndWholeNames) {
  const std::string terminal = explain_terminal(fabricate::unjudged_analysis(), {96, false});
  EXPECT_NE(terminal.find("The operator that takes the most time"), std::string::npos) << terminal;
  EXPECT_NE(terminal.find("1 step of"), std::string::npos);
  EXPECT_EQ(terminal.find("1 steps"), std::string::npos);
  EXPECT_NE(terminal.find("ConvolutionBackward0"), std::string::npos);  // not "autograd::eng…onBackward0"
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

TEST(Terminal, ColoursOnlyWhenAsked) {
  analyze::LabReport report = fabricate::resnet_report();
  EXPECT_NE(lab_terminal(report, {96, true}).find("\x1b[32m"), std::string::npos);
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

}  // namespace
}  // namespace hone::report
