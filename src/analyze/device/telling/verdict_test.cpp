// Whatever the verdict names comes with advice: over all recordings of programs, faulty and repaired.
#include <filesystem>

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze::device {
namespace {

TEST(Verdict, ComesWithAdvice) {
  int judged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(HONE_SOURCE_DIR) /
                                                               "tests/traces/recorded")) {
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
