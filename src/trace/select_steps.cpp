#include "trace/select_steps.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace hone::trace {
namespace {

bool is_selected(const Span& step, const StepSelection& selection) {
  constexpr double kNsToMs = 1e-6;
  return (!selection.first || step.step >= *selection.first) &&
         (!selection.last || step.step <= *selection.last) &&
         (!selection.from_ms || static_cast<double>(step.start_ns) * kNsToMs >= *selection.from_ms) &&
         (!selection.to_ms || static_cast<double>(step.end_ns()) * kNsToMs <= *selection.to_ms);
}

Error no_such_step(const std::vector<Span>& steps) {
  if (steps.empty()) return invalid("no steps are known of this recording, so none can be selected");
  const auto by_number = [](const Span& a, const Span& b) { return a.step < b.step; };
  const auto [first, last] = std::minmax_element(steps.begin(), steps.end(), by_number);
  const auto [begin, end] = std::minmax_element(
      steps.begin(), steps.end(), [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
  return invalid(fmt::format("no such step: the recording has steps {} to {}, from {:.3f} to {:.3f} ms",
                             first->step, last->step, static_cast<double>(begin->start_ns) * 1e-6,
                             static_cast<double>(end->end_ns()) * 1e-6));
}

}  // namespace

Status select_steps(Trace& trace, const StepSelection& selection) {
  if (selection.all()) return {};
  std::vector<Span> steps;
  for (std::size_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == Category::kStep) steps.push_back(trace.spans.row(row));
  if (std::none_of(steps.begin(), steps.end(),
                   [&](const Span& step) { return is_selected(step, selection); }))
    return no_such_step(steps);
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.category[row] != Category::kStep || is_selected(trace.spans.row(row), selection))
      continue;
    trace.spans.category[row] = Category::kRegion;
    trace.spans.step[row] = kNoStep;
  }
  return {};
}

}  // namespace hone::trace
