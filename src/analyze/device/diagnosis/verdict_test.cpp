// Whatever the verdict names comes with advice: over all recordings of programs, faulty and repaired.
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze::device {
namespace {

Analysis analysis_of_file(const std::string& file) {
  const std::filesystem::path paths[] = {source_folder() / "tests/traces" / file};
  Result<trace::Trace> trace = trace::import_trace(paths);
  if (!trace.ok() || !trace::link_trace(*trace).ok()) return {};
  const Result<Analysis> analysis = analyze_trace(*trace, {}, {});
  return analysis.ok() ? *analysis : Analysis();
}

std::string verdict_of(const std::string& recording) {
  return analysis_of_file("recorded/" + recording + ".json.gz").verdict.sentence;
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

// An advice that is told twice looks like two, each of which wins a part.
TEST(Verdict, ComesWithEachAdviceOnce) {
  const Analysis unet = analysis_of_file("public/unet_f32.json.gz");
  ASSERT_GE(unet.findings.size(), 4U);
  EXPECT_NE(unet.findings[0].fix.find("torch.channels_last"), std::string::npos);
  std::set<std::pair<Cause, std::string>> told;
  for (const Finding& finding : unet.findings)
    EXPECT_TRUE(told.insert({finding.cause, finding.fix}).second) << finding.fix;
}

// tests/traces/public/README.md has what the repair won: 9.9 ms.
TEST(Verdict, AdvisesASparseProductForAGraph) {
  const Analysis graph = analysis_of_file("public/graph_f32.json.gz");
  ASSERT_FALSE(graph.findings.empty());
  EXPECT_EQ(graph.findings[0].rule, "written_messages");
  EXPECT_NEAR(graph.findings[0].predicted_gain_ms, 9.9, 0.25 * 9.9);
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
