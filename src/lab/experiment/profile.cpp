#include "lab/experiment/profile.h"

#include "analyze/analyze.h"
#include "core/clock.h"
#include "core/version.h"
#include "trace/recorder.h"

namespace hone::lab {

Result<Profile> profile_plan(runtime::Plan& plan, const Roofs& roofs, const ProfileOptions& options) {
  const std::vector<trace::Operator> operators = operator_table(plan, options.device);
  HONE_CHECK(plan.run());
  const auto per_step = plan.steps().size() + 1;
  trace::ScopeRecorder recorder(per_step * static_cast<std::size_t>(options.max_steps + 1));
  {
    const trace::RecordingSession session(recorder);
    const int64_t end = now_ns() + options.budget_ns;
    for (int i = 0; i < options.max_steps && (i < options.min_steps || now_ns() < end); ++i)
      HONE_CHECK(plan.run());
  }
  trace::Meta meta;
  meta.producer = "hone " + std::string(kVersion);
  meta.machine = options.machine;
  meta.device = options.device;
  meta.framework = trace::Framework::kHone;
  meta.threads = options.threads;
  Profile profile;
  profile.trace = recorder.take(std::move(meta), operators, {}, options.source);
  analyze::AnalyzeOptions analysis;
  analysis.top = options.top;
  analysis.source = options.source;
  HONE_ASSIGN(profile.analysis, analyze::analyze_trace(profile.trace, roofs, analysis));
  return profile;
}

}  // namespace hone::lab
