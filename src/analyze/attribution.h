// Who gets which nanosecond of a step: every instant of its wall time goes to the operators that run then, or
// to a cause of waiting. The parts add up to the step exactly, however spans nest and overlap.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "analyze/cause.h"
#include "analyze/steps.h"
#include "trace/trace.h"

namespace hone::analyze {

struct Attribution {
  double total_ns = 0;
  std::vector<double> operator_ns;  // by row of the operator table
  // How often each began, by row; not where an operator ran inside that did the work: it is that one's.
  std::vector<double> operator_runs;
  std::array<double, kCauseCount> waiting_ns{};  // when no operator runs, by cause
  int gaps = 0;                                  // between operators, not covered by any other host activity
  double busy_ns = 0;                            // while at least one operator ran: an interval union
};

// Between two operators of a program that nobody planned, from this length on: work of the program's own, not issuing.
inline constexpr int64_t kLongGapNs = 600'000;

// Whether the span is a run of an operator, or of a kernel for one.
inline bool runs_operator(const trace::SpanTable& spans, uint32_t row) {
  return spans.op[row].valid() && (spans.category[row] == trace::Category::kOperator ||
                                   spans.category[row] == trace::Category::kKernel);
}

// At each instant, on each track, the innermost span counts. While tracks run operators the instant is
// divided evenly among them. While none does it is waiting: for what the host does then (rules.h says which
// activity is which cause), `launch` between two operators of the step, `host_other` before the first and
// after the last, and in gaps of `long_gap_ns` or more. O(n log n) in the spans of the step, however deep they nest, times the tracks that run
// operators at once.
Attribution attribute(const trace::Trace& trace, const StepWindow& step,
                      int64_t long_gap_ns = std::numeric_limits<int64_t>::max());

}  // namespace hone::analyze
