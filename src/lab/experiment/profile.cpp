#include "lab/experiment/profile.h"

#include <limits>
#include <utility>

#include "analyze/analyze.h"
#include "core/clock.h"
#include "core/scope.h"
#include "core/version.h"
#include "kernels/cpu/cores.h"
#include "lab/experiment/others_share.h"
#include "lab/gate/paired.h"
#include "trace/link/steps.h"

namespace hone::lab {
namespace {

// For who reads the times; empty: they are the host's, as everybody takes them to be.
std::string how_timed(const runtime::MarkTimes& times) {
  using How = runtime::MarkTimes::How;
  if (times.how == How::kWithinReplay) return "times of operators: CUPTI, within the replayed graph";
  if (times.how != How::kEvents) return {};
  return "times of operators: events around each, launches included, because CUPTI does not serve: " +
         times.why_events;
}

}  // namespace

Result<analyze::Analysis> analyse_profile(const trace::Trace& trace, const Roofs& roofs,
                                          const ProfileOptions& options) {
  analyze::AnalyzeOptions analyse;
  analyse.top = options.top;
  analyse.source = options.source;
  analyse.kernels = options.kernels;
  return analyze::analyze_trace(trace, roofs, analyse);
}

StepRecorder::StepRecorder(runtime::Plan& plan, const ProfileOptions& options)
    : plan_(plan),
      options_(options),
      timed_(plan.mark_times().how),
      recorder_((plan.steps().size() + 2) * static_cast<std::size_t>(options.max_steps + 1) +
                options.marks_beside) {}

// With something before the plan, the plan's own mark is of a part of the step, which ends with the plan's run.
Status StepRecorder::run_step(const std::function<Status()>& before,
                              const std::function<Status()>& meanwhile) {
  if (!before) return plan_.run(meanwhile);
  HONE_CHECK(plan_.ready_marks());
  const int64_t begun = now_ns();
  HONE_CHECK(before());
  HONE_CHECK(plan_.run(meanwhile));
  tell_scope_listener(ScopeListener::Kind::kStep, 0, begun, plan_.marked_run().ended_ns);
  return {};
}

// A GPU's plan is found out about when it first runs for a listener, and may lose its profiler later.
bool StepRecorder::is_timed_in_another_way() {
  const runtime::MarkTimes::How before = std::exchange(timed_, plan_.mark_times().how);
  return timed_ != before;
}

void StepRecorder::forget_all() {
  recorder_.forget_since(std::numeric_limits<int64_t>::min());
  kept_ = left_out_ = 0;
  seconds_ = waited_seconds_ = 0;
}

Status StepRecorder::record(int64_t forget_until_ns, const std::function<Status()>& before,
                            const std::function<Status()>& meanwhile) {
  if (kept_ >= options_.max_steps) return {};
  const trace::RecordingSession session(recorder_);
  meter_.restart();
  const int64_t used = process_cpu_ns();
  const int64_t start = now_ns();
  HONE_CHECK(run_step(before, meanwhile));
  const int64_t stop = now_ns();
  last_step_ns_ = stop - start;
  const ContentionShare share = without_own_threads(meter_.share(), process_cpu_ns() - used, now_ns() - start,
                                                    static_cast<int>(kernels::usable_cpus().size()));
  if (is_timed_in_another_way()) {
    forget_all();
    return {};
  }
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

Result<Profile> StepRecorder::profile(const Roofs& roofs, const std::vector<trace::Region>& regions) const {
  trace::Meta meta;
  meta.producer = "hone " + std::string(kVersion);
  meta.machine = options_.machine;
  meta.device = options_.device;
  meta.framework = trace::Framework::kHone;
  meta.threads = options_.threads;
  meta.contention = {seconds_ > 0 ? waited_seconds_ / seconds_ : 0, contention_known_};
  Profile profile;
  profile.left_out = left_out_;
  profile.trace =
      recorder_.take(std::move(meta), operator_table(plan_, options_.device), regions, options_.source);
  if (const std::string how = how_timed(plan_.mark_times()); !how.empty())
    trace::link::note_on_steps(profile.trace, how);
  HONE_ASSIGN(profile.analysis, analyse_profile(profile.trace, roofs, options_));
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
