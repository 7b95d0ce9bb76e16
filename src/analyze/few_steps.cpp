#include "analyze/few_steps.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyze/framework_text.h"
#include "analyze/withhold.h"
#include "core/units.h"

namespace hone::analyze {
namespace {

constexpr int kEnoughSteps = 3;
constexpr double kLittleConfidence = 0.5;
// One call of one operator of PyTorch leaves as many: the operator, its launch, its kernel, and what waits for it.
constexpr std::size_t kFewestRecords = 4;

constexpr FrameworkText kRecordAll = {
    .pytorch =
        "record three steps or more with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], and call "
        "profiler.step() after each",
    .native = "record three steps or more, of the host and of the device"};

using Recorded = std::array<std::size_t, trace::kCategoryCount>;

// What says what ran, by category: marks of steps, ranges and the recorder's own time say nothing of that.
Recorded count_records(const trace::Trace& trace) {
  Recorded count{};
  for (const trace::Category category : trace.spans.category)
    if (category != trace::Category::kStep && category != trace::Category::kRegion &&
        category != trace::Category::kOverhead && category != trace::Category::kOther)
      ++count[static_cast<std::size_t>(category)];
  return count;
}

std::string what_is_missing(const Recorded& count) {
  constexpr std::pair<trace::Category, std::string_view> kParts[] = {
      {trace::Category::kOperator, "operators"},
      {trace::Category::kRuntime, "launches"},
      {trace::Category::kKernel, "kernels"}};
  std::vector<std::string_view> missing;
  for (const auto& [category, name] : kParts)
    if (count[static_cast<std::size_t>(category)] == 0) missing.push_back(name);
  missing.emplace_back("further steps");
  return fmt::format("{}", fmt::join(missing, ", "));
}

// Imported, without samples or counters, which tell of programs in ways of their own; our own runs have a step
// however small their model is.
std::string why_too_little(const trace::Trace& trace, const Analysis& analysis) {
  if (analysis.subject == Subject::kPlan || analysis.step.count >= kEnoughSteps || !trace.stacks.empty() ||
      !trace.counters.empty())
    return {};
  const Recorded count = count_records(trace);
  std::size_t all = 0;
  for (const std::size_t some : count) all += some;
  if (all >= kFewestRecords) return {};
  return fmt::format("No verdict: of {} the recording holds {} of what ran; {} are missing: {}.",
                     analysis.step.count == 1 ? "one step" : "two steps",
                     all == 0 ? "nothing" : "only " + counted(static_cast<double>(all), "record"),
                     what_is_missing(count), kRecordAll.of(trace.meta.framework));
}

std::string why_too_few(const trace::Meta& meta, const StepTime& step) {
  if (step.count >= kEnoughSteps || step.confidence >= kLittleConfidence) return {};
  return fmt::format(
      "Not judged: only {} found, with a confidence of {}, and may be no step of the program but its start; "
      "{}.",
      step.count == 1 ? "1 step was" : fmt::format("{} steps were", step.count),
      format_percent(step.confidence),
      meta.blocks.empty() ? "record more steps, or mark them" : "record more and later (--steps, --wait)");
}

}  // namespace

void withhold_of_few_steps(const trace::Trace& trace, Analysis& analysis) {
  if (!analysis.verdict.given) return;
  std::string why = why_too_little(trace, analysis);
  if (why.empty()) why = why_too_few(trace.meta, analysis.step);
  if (why.empty()) return;
  withhold_verdict(std::move(why), analysis);
}

}  // namespace hone::analyze
