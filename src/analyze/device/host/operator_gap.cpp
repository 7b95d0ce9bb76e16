#include "analyze/device/host/operator_gap.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "core/statistics.h"

namespace hone::analyze::device {
namespace {

constexpr std::size_t kFewestGaps = 20;
constexpr double kShare = 0.25;

bool counts(trace::Category category) {
  return category == trace::Category::kOperator || category == trace::Category::kRuntime ||
         category == trace::Category::kSynchronization || category == trace::Category::kAllocation;
}

void add_gaps(const trace::Trace& trace, const std::vector<HostSpan>& thread, std::vector<double>& gaps) {
  std::vector<int64_t> open;  // ends, the innermost last
  for (const HostSpan& span : thread) {
    if (!counts(trace.spans.category[span.row])) continue;
    std::optional<int64_t> before;
    for (; !open.empty() && open.back() <= span.start_ns; open.pop_back()) before = open.back();
    if (span.is_operator && before && *before < span.start_ns)
      gaps.push_back(static_cast<double>(span.start_ns - *before));
    open.push_back(span.end_ns);
  }
}

}  // namespace

double operator_gap(const trace::Trace& trace, const std::vector<std::vector<HostSpan>>& threads) {
  std::vector<double> gaps;
  for (const std::vector<HostSpan>& thread : threads) add_gaps(trace, thread, gaps);
  return gaps.size() < kFewestGaps ? 0 : quantile(gaps, kShare);
}

}  // namespace hone::analyze::device
