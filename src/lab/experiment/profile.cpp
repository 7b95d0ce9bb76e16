#include "lab/experiment/profile.h"

#include <fmt/format.h>

#include "analyze/analyze.h"
#include "core/clock.h"
#include "core/contention.h"
#include "core/version.h"
#include "trace/recorder.h"

namespace hone::lab {
namespace {

// Runs and records steps. Those that were disturbed are forgotten again, until the budget is spent.
Status record_steps(runtime::Plan& plan, const ProfileOptions& options, trace::ScopeRecorder& recorder,
                    Profile& profile) {
  const trace::RecordingSession session(recorder);
  const int64_t end = now_ns() + options.budget_ns;
  double waited = 0, seconds = 0;
  ContentionMeter meter;
  for (int kept = 0; kept < options.max_steps && (kept < options.min_steps || now_ns() < end);) {
    meter.restart();
    const int64_t start = now_ns();
    HONE_CHECK(plan.run());
    const int64_t stop = now_ns();
    const ContentionShare share = meter.share();
    if (share.disturbed() && stop < end) {
      recorder.forget_since(start);
      ++profile.left_out;
      continue;
    }
    ++kept;
    const double step_seconds = static_cast<double>(stop - start) * 1e-9;
    waited += share.waited * step_seconds;
    seconds += step_seconds;
    profile.contention.known = share.known;
  }
  profile.contention.waited = seconds > 0 ? waited / seconds : 0;
  return {};
}

}  // namespace

void withhold_findings(const ContentionShare& contention, analyze::Analysis& analysis) {
  analysis.verdict = {};
  analysis.verdict.judged = analysis.verdict.given = false;
  analysis.verdict.sentence = fmt::format(
      "No verdict: {} while these steps ran, and what they lost by that cannot be told from what they lose "
      "by "
      "themselves. Measure again when the machine is quiet.",
      contention_text(contention));
  for (analyze::LedgerRow& row : analysis.ledger) row.predicted_gain_ms = 0;
  analysis.findings.clear();
  analysis.warnings.push_back(fmt::format("the machine was busy: {}", contention_text(contention)));
}

Result<Profile> profile_plan(runtime::Plan& plan, const Roofs& roofs, const ProfileOptions& options) {
  const std::vector<trace::Operator> operators = operator_table(plan, options.device);
  HONE_CHECK(plan.run());
  const auto per_step = plan.steps().size() + 1;
  trace::ScopeRecorder recorder(per_step * static_cast<std::size_t>(options.max_steps + 1));
  Profile profile;
  HONE_CHECK(record_steps(plan, options, recorder, profile));
  trace::Meta meta;
  meta.producer = "hone " + std::string(kVersion);
  meta.machine = options.machine;
  meta.device = options.device;
  meta.framework = trace::Framework::kHone;
  meta.threads = options.threads;
  profile.trace = recorder.take(std::move(meta), operators, {}, options.source);
  analyze::AnalyzeOptions analysis;
  analysis.top = options.top;
  analysis.source = options.source;
  HONE_ASSIGN(profile.analysis, analyze::analyze_trace(profile.trace, roofs, analysis));
  if (profile.contention.disturbed()) withhold_findings(profile.contention, profile.analysis);
  return profile;
}

}  // namespace hone::lab
