#include "analyze/advice.h"

#include <algorithm>
#include <utility>

namespace hone::analyze {
namespace {

constexpr double kNearlyAll = 0.9;  // of the gain that the verdict speaks of

}  // namespace

void order_findings(Analysis& analysis) {
  const auto key = [&](const Finding& finding) {
    return std::pair(analysis.verdict.cause == finding.cause,
                     finding.predicted_gain_ms * weight_of(finding.effort));
  };
  std::stable_sort(analysis.findings.begin(), analysis.findings.end(),
                   [&](const Finding& a, const Finding& b) { return key(a) > key(b); });
}

Advice first_advice(const Analysis& analysis) {
  const std::vector<Finding>& rows = analysis.findings;
  if (!analysis.verdict.cause || rows.empty() || rows.front().cause != *analysis.verdict.cause) return {};
  const Finding& first = rows.front();
  // The verdict speaks of all that its cause costs, the fix of what the largest finding does.
  const bool is_part =
      first.predicted_gain_ms > 0 && first.predicted_gain_ms < kNearlyAll * analysis.verdict.recoverable_ms;
  return {first.fix, first.predicted_gain_ms, first.gain_is_bound, !is_part};
}

}  // namespace hone::analyze
