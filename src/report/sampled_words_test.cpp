#include "report/sampled_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/fabricate_device.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/terminal.h"

namespace hone::report {
namespace {

using analyze::SampledDevice, analyze::SampledFigure;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

SampledFigure figure(std::string name, std::string unit, double mean, double most) {
  std::vector<double> profile(100, 0);
  for (std::size_t i = 0; i < 50; ++i) profile[i] = most;
  return {name, name, std::move(unit), mean, most, std::move(profile)};
}

SampledDevice device() {
  SampledDevice device;
  device.device = 2;
  device.interval_us = 100;
  device.samples = 10'000;
  device.steps = 98;
  device.step_ms = 10.2;
  device.figures = {figure("tensor cores active", "%", 25, 50), figure("DRAM read", "B/s", 1e12, 2e12),
                    figure("NVLink sent", "B/s", 10, 1000),
                    figure("multiprocessor clock", "Hz", 1.98e9, 1.98e9)};
  return device;
}

TEST(SampledWords, HaveTheUnitsOfTheField) {
  EXPECT_EQ(sampled_text(device().figures[0], 43.14), "43.1 %");
  EXPECT_EQ(sampled_text(device().figures[1], 1.24e12), "1.24 TB/s");
  EXPECT_EQ(sampled_text(device().figures[3], 1.98e9), "1.98 GHz");
  EXPECT_EQ(sampled_heading(device()), "GPU 2, sampled every 100 µs over 98 steps of 10.2 ms");
}

TEST(SampledWords, DrawSharesAgainstTheWholeAndRatesAgainstTheirLargest) {
  EXPECT_EQ(course_text(device().figures[0]), "▄▄▄▄▄▄▄▄▄▄▄▄            ");
  EXPECT_EQ(course_text(device().figures[1]), "████████████            ");
}

TEST(SampledWords, LeaveOutLinksThatCarryNothing) {
  EXPECT_THAT(told_figures(device()), ElementsAre(Field(&SampledFigure::name, "tensor cores active"),
                                                  Field(&SampledFigure::name, "DRAM read"),
                                                  Field(&SampledFigure::name, "multiprocessor clock")));
}

TEST(SampledWords, StandInEveryFormOfTheReport) {
  analyze::Analysis analysis = fabricate::device_analysis();
  analysis.sampled = {device()};
  analysis.sampled[0].rank = analysis.ledger_rank;
  if (analysis.ledger_device >= 0) analysis.sampled[0].device = analysis.ledger_device;
  analysis.targets[0].measured = true;
  for (const std::string& form : {explain_terminal(analysis, {}), explain_markdown(analysis)}) {
    EXPECT_THAT(form, HasSubstr("sampled every 100 µs over 98 steps"));
    EXPECT_THAT(form, HasSubstr("1.00 TB/s"));
    EXPECT_THAT(form, HasSubstr("████████████"));
    EXPECT_THAT(form, HasSubstr("GPU busy (measured)"));
  }
  EXPECT_THAT(explain_json(analysis), HasSubstr("\"sampled\""));
}

}  // namespace
}  // namespace hone::report
