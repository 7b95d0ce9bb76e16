#include "lab/experiment/profile.h"

#include <fmt/format.h>

#include "analyze/analyze.h"
#include "core/clock.h"
#include "core/version.h"
#include "lab/gate/paired.h"

namespace hone::lab {

void withhold_findings(const ContentionShare& contention, analyze::Analysis& analysis) {
  analysis.verdict = {};
  analysis.verdict.judged = analysis.verdict.given = false;
  analysis.verdict.sentence = fmt::format(
      "No verdict: {} while these steps ran, and what they lost by that cannot be told from what they lose "
      "by themselves. Measure again when the machine is quiet.",
      contention_text(contention));
  for (analyze::LedgerRow& row : analysis.ledger) row.predicted_gain_ms = 0;
  analysis.findings.clear();
  analysis.warnings.push_back(fmt::format("the machine was busy: {}", contention_text(contention)));
}

Result<analyze::Analysis> analyse_profile(const trace::Trace& trace, const ContentionShare& contention,
                                          const Roofs& roofs, const ProfileOptions& options) {
  analyze::AnalyzeOptions analyse;
  analyse.top = options.top;
  analyse.source = options.source;
  HONE_ASSIGN(analyze::Analysis analysis, analyze::analyze_trace(trace, roofs, analyse));
  if (contention.disturbed()) withhold_findings(contention, analysis);
  return analysis;
}

StepRecorder::StepRecorder(runtime::Plan& plan, const ProfileOptions& options)
    : plan_(plan),
      options_(options),
      recorder_((plan.steps().size() + 1) * static_cast<std::size_t>(options.max_steps + 1)) {}

Status StepRecorder::record(int64_t forget_until_ns) {
  if (kept_ >= options_.max_steps) return {};
  const trace::RecordingSession session(recorder_);
  meter_.restart();
  const int64_t start = now_ns();
  HONE_CHECK(plan_.run());
  const int64_t stop = now_ns();
  last_step_ns_ = stop - start;
  const ContentionShare share = meter_.share();
  if (share.disturbed() && stop < forget_until_ns) {
    recorder_.forget_since(start);
    ++left_out_;
    return {};
  }
  ++kept_;
  const double seconds = static_cast<double>(last_step_ns_) * 1e-9;
  seconds_ += seconds;
  waited_seconds_ += share.waited * seconds;
  contention_known_ = share.known;
  return {};
}

Status StepRecorder::record_after_others(int64_t forget_until_ns) {
  if (kept_ >= options_.max_steps) return {};
  if (last_step_ns_ < PairedOptions{}.settled_ns) HONE_CHECK(plan_.run());
  return record(forget_until_ns);
}

Result<Profile> StepRecorder::profile(const Roofs& roofs) const {
  trace::Meta meta;
  meta.producer = "hone " + std::string(kVersion);
  meta.machine = options_.machine;
  meta.device = options_.device;
  meta.framework = trace::Framework::kHone;
  meta.threads = options_.threads;
  Profile profile;
  profile.left_out = left_out_;
  profile.contention = {seconds_ > 0 ? waited_seconds_ / seconds_ : 0, contention_known_};
  profile.trace =
      recorder_.take(std::move(meta), operator_table(plan_, options_.device), {}, options_.source);
  HONE_ASSIGN(profile.analysis, analyse_profile(profile.trace, profile.contention, roofs, options_));
  return profile;
}

Result<Profile> profile_plan(runtime::Plan& plan, const Roofs& roofs, const ProfileOptions& options) {
  StepRecorder recorder(plan, options);
  HONE_CHECK(plan.run());
  const int64_t end = now_ns() + options.budget_ns;
  while (recorder.steps() < options.max_steps && (!recorder.enough() || now_ns() < end))
    HONE_CHECK(recorder.record(end));
  return recorder.profile(roofs);
}

}  // namespace hone::lab
