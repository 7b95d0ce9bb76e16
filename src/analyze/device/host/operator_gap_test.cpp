#include "analyze/device/host/operator_gap.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

// Operators of 10 ns in a row, so far apart; every fourth much further.
double gap_of(int operators, int64_t apart_ns, int64_t from_ns) {
  trace::Trace trace;
  const trace::TrackId track = trace.add_track({});
  std::vector<HostSpan> thread;
  for (int i = 0; i < operators; ++i) {
    HostSpan span{from_ns, from_ns + 10,
                  add_span(trace, {.on = track, .category = trace::Category::kOperator}), Activity::kIssue,
                  false};
    span.is_operator = true;
    thread.push_back(span);
    from_ns = span.end_ns + (i % 4 == 0 ? 1'000'000 : apart_ns);
  }
  return operator_gap(trace, {thread});
}

TEST(OperatorGap, IsTheDistanceWhereTheProgramDoesLittle) { EXPECT_DOUBLE_EQ(gap_of(100, 1500, 0), 1500); }

// Where clocks of ranks are brought together, times may lie before zero.
TEST(OperatorGap, DoesNotDependOnWhereTimeBegins) {
  EXPECT_DOUBLE_EQ(gap_of(100, 1500, -3'000'000'000), 1500);
}

TEST(OperatorGap, IsNotKnownOfAFewOperators) { EXPECT_EQ(gap_of(20, 1500, 0), 0); }

}  // namespace
}  // namespace hone::analyze::device
