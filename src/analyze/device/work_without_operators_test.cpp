// Programs on CuPy or CUDA, which tell of no operators: what takes most time is told all the same.
#include "analyze/device/work_without_operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/device/device_analysis.h"
#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Steps of 1000 µs with two kernels, launched in ranges of these names; empty: in none. Times in µs.
Analysis analysis_of(const std::string& first, const std::string& second) {
  trace::Trace trace;
  trace.meta.devices = {{0, 0, "NVIDIA H200", 150e9, 132, 9, 0}};
  const trace::TrackId process = add_process(trace);
  const trace::TrackId thread = add_thread(trace, process), stream = add_stream(trace, process);
  for (int step = 1; step <= 3; ++step) {
    const double start = 1000.0 * step;
    add_span(trace, {.on = thread,
                     .category = trace::Category::kStep,
                     .name = "step",
                     .from_us = start,
                     .us = 1000,
                     .step = step});
    double at = start + 10;
    for (const auto& [range, kernel, us] :
         {std::tuple(first, "halve", 100.0), std::tuple(second, "cupy_tanh", 300.0)}) {
      if (!range.empty())
        add_span(trace, {.on = thread,
                         .category = trace::Category::kRegion,
                         .name = range + " " + std::to_string(step),
                         .from_us = at - 2,
                         .us = 20,
                         .step = step});
      add_launch(trace, {.on = thread, .from_us = at, .us = 5},
                 {.on = stream,
                  .category = trace::Category::kKernel,
                  .name = kernel,
                  .from_us = at + 10,
                  .us = us,
                  .step = step});
      at += 350;
    }
  }
  auto result = analyze_device_trace(trace, Roofs{}, {});
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? std::move(*result) : Analysis{};
}

std::vector<std::string> names_of(const Analysis& analysis) {
  std::vector<std::string> names;
  for (const TopOperator& row : analysis.top) names.push_back(row.name);
  return names;
}

TEST(WorkWithoutOperators, IsToldByTheProgramsRanges) {
  const Analysis analysis = analysis_of("scale", "activate");
  EXPECT_THAT(names_of(analysis), ElementsAre("activate #", "scale #"));
  EXPECT_EQ(analysis.top[0].of, TopKind::kRange);
  EXPECT_NEAR(analysis.top[0].ms, 0.3, 1e-6);
  EXPECT_THAT(analysis.top[0].why, HasSubstr("1 launches a step, most of the time cupy_tanh"));
}

TEST(WorkWithoutOperators, IsToldByKernelsWhereRangesTellTooLittle) {
  for (const Analysis& analysis :
       {analysis_of("", ""), analysis_of("all", "all"), analysis_of("scale", "")}) {
    EXPECT_THAT(names_of(analysis), ElementsAre("cupy_tanh", "halve"));
    EXPECT_EQ(analysis.top[0].of, TopKind::kKernel);
  }
}

TEST(WorkWithoutOperators, IsNoFaultOfTheRecording) {
  for (const std::string& warning : analysis_of("", "").warnings)
    EXPECT_THAT(warning, Not(HasSubstr("could not be traced back")));
}

}  // namespace
}  // namespace hone::analyze::device
