// Sentences and names that every form of a report shares.
#include "report/words.h"

#include <gtest/gtest.h>

#include "report/device_words.h"

namespace hone::report {
namespace {

TEST(FirstFix, SaysWhatItWinsWhereThatIsLessThanItsCauseDoes) {
  analyze::Analysis analysis;
  analysis.step.ms.median = 20;
  analysis.verdict.cause = analyze::Cause::kLaunch;
  analysis.verdict.recoverable_ms = 8;
  analyze::Finding graph;
  graph.cause = analyze::Cause::kLaunch;
  graph.fix = "use a graph";
  graph.predicted_gain_ms = 5;
  analysis.findings = {graph};
  EXPECT_EQ(first_fix(analysis), "use a graph (about 5.00 ms of that)");
  analysis.findings[0].gain_is_bound = true;
  EXPECT_EQ(first_fix(analysis), "use a graph (at most 5.00 ms of that)");
  analysis.findings[0].gain_is_bound = false;
  analysis.findings[0].predicted_gain_ms = 7.9;
  EXPECT_EQ(first_fix(analysis), "use a graph");
  analysis.verdict.cause.reset();
  EXPECT_EQ(first_fix(analysis), "");
}

TEST(ChangeName, HasBothShapesOfAnOperatorThatChangedThem) {
  analyze::OperatorChange change;
  change.kind = "aten::gelu";
  change.a = {"gelu 3278×8192 bf16"};
  change.b = {"gelu 16384×8192 bf16"};
  EXPECT_EQ(change_name(change).head, "gelu");
  EXPECT_EQ(change_name(change).detail, "3278×8192 bf16 → 16384×8192 bf16");
  change.b = change.a;
  EXPECT_EQ(change_name(change).detail, "3278×8192 bf16");
  change.b.clear();
  EXPECT_EQ(change_name(change).head, "gelu (gone)");
}

}  // namespace
}  // namespace hone::report
