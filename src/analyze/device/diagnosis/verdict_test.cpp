// Whatever the verdict names comes with advice: over all recordings of programs, faulty and repaired.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze::device {
namespace {

std::string verdict_of(const std::string& recording) {
  const std::filesystem::path paths[] = {source_folder() / "tests/traces/recorded" /
                                         (recording + ".json.gz")};
  Result<trace::Trace> trace = trace::import_trace(paths);
  if (!trace.ok() || !trace::link_trace(*trace).ok()) return "";
  const Result<Analysis> analysis = analyze_trace(*trace, {}, {});
  return analysis.ok() ? analysis->verdict.sentence : "";
}

// With the traffic avoided one graph wins what it wins before, without the host's program the half of it.
TEST(Verdict, SaysWhetherLaunchOverheadGoesWithTheFirstCause) {
  const std::string apart = verdict_of("boxes_cropped_one_by_one.repaired");
  EXPECT_EQ(apart.find("goes with it"), std::string::npos);
  EXPECT_NE(apart.find(" Launching the step as one graph would then win another"), std::string::npos);
  EXPECT_NE(verdict_of("host_python_metrics.fault")
                .find("Launch overhead goes with it in part: launching the step as one graph would then win"),
            std::string::npos);
}

TEST(Verdict, ComesWithAdvice) {
  int judged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/traces/recorded")) {
    if (entry.path().extension() != ".gz") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const std::filesystem::path paths[] = {entry.path()};
    Result<trace::Trace> trace = trace::import_trace(paths);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    ASSERT_TRUE(trace::link_trace(*trace).ok());
    const Result<Analysis> analysis = analyze_trace(*trace, {}, {});
    ASSERT_TRUE(analysis.ok()) << analysis.error().message;
    if (!analysis->verdict.cause) continue;
    ++judged;
    const auto found = std::find_if(
        analysis->findings.begin(), analysis->findings.end(),
        [&](const Finding& row) { return row.cause == analysis->verdict.cause && !row.fix.empty(); });
    EXPECT_NE(found, analysis->findings.end());
  }
  EXPECT_GT(judged, 30);
}

}  // namespace
}  // namespace hone::analyze::device
