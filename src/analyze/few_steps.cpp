#include "analyze/few_steps.h"

#include <fmt/format.h>

#include "core/units.h"

namespace hone::analyze {
namespace {

constexpr int kEnoughSteps = 3;
constexpr double kLittleConfidence = 0.5;

}  // namespace

void withhold_of_few_steps(const trace::Meta& meta, Analysis& analysis) {
  const StepTime& step = analysis.step;
  if (step.count >= kEnoughSteps || step.confidence >= kLittleConfidence || !analysis.verdict.given) return;
  analysis.verdict = {};
  analysis.verdict.judged = analysis.verdict.given = false;
  analysis.verdict.sentence = fmt::format(
      "Not judged: only {} found, with a confidence of {}, and may be no step of the program but its start; "
      "{}.",
      step.count == 1 ? "1 step was" : fmt::format("{} steps were", step.count),
      format_percent(step.confidence),
      meta.blocks.empty() ? "record more steps, or mark them" : "record more and later (--steps, --wait)");
  for (LedgerRow& row : analysis.ledger) row.predicted_gain_ms = 0;
  analysis.findings.clear();
}

}  // namespace hone::analyze
