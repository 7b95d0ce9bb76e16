#include "analyze/analyze.h"

#include <algorithm>

#include <fmt/format.h>

#include "analyze/advice.h"
#include "analyze/attribution.h"
#include "analyze/beaten.h"
#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/device_analysis.h"
#include "analyze/device/plan_counters.h"
#include "analyze/few_steps.h"
#include "analyze/host_lines.h"
#include "analyze/host_program.h"
#include "analyze/host_use.h"
#include "analyze/ledger.h"
#include "analyze/memory/memory_findings.h"
#include "analyze/top.h"
#include "analyze/unrecorded.h"
#include "analyze/withhold.h"
#include "analyze/without_recorder.h"
#include "core/contention.h"
#include "core/units.h"
#include "trace/link/steps.h"

namespace hone::analyze {
namespace {

// The spans of one step as bars, times relative to its start. Marks of no length are left out; what runs
// within another stands below it.
void add_timeline(const trace::Trace& trace, const StepWindow& step, Analysis& analysis) {
  std::vector<uint32_t> rows;
  for (uint32_t row : step.rows)
    if (trace.spans.start_ns[row] < step.end_ns &&
        trace.spans.start_ns[row] + trace.spans.duration_ns[row] > step.start_ns)
      rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    if (trace.spans.start_ns[a] != trace.spans.start_ns[b])
      return trace.spans.start_ns[a] < trace.spans.start_ns[b];
    return trace.spans.duration_ns[a] > trace.spans.duration_ns[b];
  });
  std::vector<int> track_of(trace.tracks.size(), -1);
  std::vector<std::vector<int64_t>> open(trace.tracks.size());  // ends of the bars around the next one
  for (uint32_t row : rows) {
    trace::Span span = trace.spans.row(row);
    int64_t start = std::max(span.start_ns, step.start_ns);
    int64_t end = std::min(span.end_ns(), step.end_ns);
    if (start >= end) continue;
    int& track = track_of[span.track.index];
    if (track < 0) {
      track = static_cast<int>(analysis.timeline_tracks.size());
      analysis.timeline_tracks.push_back(trace.tracks[span.track.index].name);
    }
    std::vector<int64_t>& around = open[span.track.index];
    while (!around.empty() && around.back() <= span.start_ns) around.pop_back();
    TimelineSpan bar;
    bar.track = track;
    bar.depth = static_cast<int>(around.size());
    bar.start_ms = static_cast<double>(start - step.start_ns) * 1e-6;
    bar.ms = static_cast<double>(end - start) * 1e-6;
    bar.name = trace.name(span);
    bar.kind = trace::category_name(span.category);
    if (span.op.valid()) {
      bar.kind = trace.operators[span.op.index].kind;
      bar.op_class = trace.operators[span.op.index].op_class;
    }
    around.push_back(span.end_ns());
    analysis.timeline.push_back(std::move(bar));
  }
}

// Where a thread that runs operators runs nothing: the ledger's cause, and the line that the host was at most of all then.
void add_gaps(const StepWindow& step, Analysis& analysis) {
  constexpr double kShortest = 0.005;  // of the step
  const double whole = static_cast<double>(step.end_ns - step.start_ns) * 1e-6;
  std::vector<double> busy(analysis.timeline_tracks.size(), 0);
  for (const TimelineSpan& bar : analysis.timeline)
    if (bar.depth == 0) busy[static_cast<std::size_t>(bar.track)] += bar.ms;
  if (busy.empty()) return;
  const auto track = static_cast<int>(std::ranges::max_element(busy) - busy.begin());
  const auto add = [&](double from, double to, bool edge) {
    if (to - from < kShortest * whole) return;
    IdleSpan gap{track, from, to - from, Cause::kLaunch, {}};
    if (edge || to - from >= static_cast<double>(kLongGapNs) * 1e-6) gap.cause = Cause::kHostOther;
    for (const LedgerRow& row : analysis.ledger)
      if (row.cause == gap.cause && !row.lines.empty()) gap.name = row.lines.front().where;
    analysis.idle.push_back(std::move(gap));
  };
  double end = 0;
  for (const TimelineSpan& bar : analysis.timeline) {
    if (bar.track != track || bar.depth != 0) continue;
    add(end, bar.start_ms, end == 0);
    end = std::max(end, bar.start_ms + bar.ms);
  }
  add(end, whole, true);
}

std::map<std::string, double> metrics_of(const trace::Trace& trace, const StepProfile& profile,
                                         const Analysis& analysis) {
  double flops = 0, least_flops = 0, executed_flops = 0, bytes = 0, seconds = analysis.step.ms.median * 1e-3;
  for (const OperatorProfile& entry : profile.operators) {
    const trace::Operator op = step_operator(trace, entry);
    flops += op.flops;
    least_flops += op.fewest_flops();
    executed_flops += op.kernel_flops();
    bytes += op.bytes();
  }
  return {
      {"flop", flops},
      {"least_flop", least_flops},
      {"executed_flop", executed_flops},
      {"compulsory_bytes", bytes},
      {"achieved_gflop_per_s", seconds > 0 ? flops / seconds * 1e-9 : 0},
      {"achieved_gb_per_s", seconds > 0 ? bytes / seconds * 1e-9 : 0},
      {"busy_share", profile.busy_share},
      {"operators", static_cast<double>(analysis.operators.size())},
      {"gaps", profile.gaps},
      {"steps_averaged", static_cast<double>(profile.central_steps)},
  };
}

// Floors are bounds only as far as the roofs are: where operators beat theirs by more than noise, the roofs
// are too low and the reader must know it. Empty where all is well.
std::string faster_than_floors(const StepProfile& profile) {
  double floor_row = 0;
  for (const OperatorProfile& op : profile.operators) floor_row += op.split.floor_ms;
  double beaten_ms = profile.floor_ms - floor_row;
  if (beaten_ms <= 0.02 * profile.step_ms) return {};
  return fmt::format(
      "operators ran {} faster than the measured roofs allow: the roofs were measured while the machine was "
      "busy; measure them again with `hone ceilings --refresh`",
      format_ms(beaten_ms));
}

// Where the device's part of the time is missing, no change of the host's promises anything, and what
// operators took on the host says nothing of how fast they were.
void promise_nothing(Analysis& analysis) {
  analysis.roofline.clear();
  for (const char* rate : {"achieved_gflop_per_s", "achieved_gb_per_s"}) analysis.figures.erase(rate);
  for (LedgerRow& row : analysis.ledger) row.predicted_gain_ms = 0;
  for (TopOperator& row : analysis.top) row.why = row.why.substr(0, row.why.find(';'));
  analysis.findings.clear();
}

// A profile of a busy machine gives no verdict, finds nothing and predicts no gain.
void withhold_findings(const trace::Meta& meta, Analysis& analysis) {
  analysis.contention = meta.contention;
  const std::string busy = contention_text(meta.contention);
  withhold_verdict(
      fmt::format(
          "No verdict: {} while these steps ran, and what they lost by that cannot be told from what they "
          "lose by themselves. Measure again when the machine is quiet{}.",
          busy, meta.threads > 1 ? ", or with --threads 1: threads that wait for each other lose most" : ""),
      analysis);
  analysis.warnings.push_back(fmt::format("the machine was busy: {}", busy));
}

// What the end of a file that was cut off would have held, its verdict cannot know.
void qualify(const trace::Trace& trace, Analysis& analysis) {
  if (!trace.meta.cut_off || device_is_missing(trace)) return;
  std::string& sentence = analysis.verdict.sentence;
  if (!ends_before_device(trace)) {
    sentence = fmt::format("As far as {}: {}",
                           trace.meta.blocks.empty() ? "the file goes, which ends before its recording does"
                                                     : "it was recorded before the program ended",
                           sentence);
    return;
  }
  analysis.verdict = {};
  analysis.verdict.judged = analysis.verdict.given = false;
  sentence = fmt::format(
      "No verdict: the file ends before it comes to anything that ran on the device ({}). Give the whole "
      "file, or record again with fewer steps.",
      trace.meta.devices.front().name);
  promise_nothing(analysis);
}

// How the steps of an imported trace were found; a runtime of ours marks its own, and may have something to say of them.
void tell_how_found(const trace::Meta& meta, StepTime& step) {
  const trace::StepsFound found = trace::steps_found(meta);
  step.notes = found.notes;
  if (found.how.empty()) return;
  step.how_found = found.how;
  if (found.confidence > 0) step.confidence = found.confidence;
  if (std::string doubt = doubt_in_steps(step); !doubt.empty()) step.notes.push_back(std::move(doubt));
}

void list_steps(std::span<const StepWindow> steps, int rank, Analysis& analysis) {
  std::vector<int32_t> numbers;
  for (const StepWindow& step : steps) {
    numbers.push_back(step.step);
    analysis.step_spans.push_back({rank, step.step, step.start_ns, step.end_ns});
  }
  if (analysis.subject != Subject::kPlan) note_outliers(numbers, analysis.step);
}

// Only what was imported was linked; our plans on this host call no device.
Subject subject_of(const trace::Trace& trace) {
  const bool linked = !trace::steps_found(trace.meta).how.empty();
  return linked || device_is_missing(trace) ? Subject::kHostProgram : Subject::kPlan;
}

std::vector<std::string> plan_warnings(const trace::Trace& trace, const StepProfile& profile,
                                       const std::vector<BeatenRoof>& beaten) {
  std::vector<std::string> warnings;
  std::string faster = beaten.empty() ? faster_than_floors(profile) : beaten_warning(beaten);
  if (!faster.empty()) warnings.push_back(std::move(faster));
  double unknown_ms = 0;
  int unknown = 0;
  for (const OperatorProfile& op : profile.operators)
    if (!op.floor.known() && trace.operators[op.op].op_class != trace::OperatorClass::kLayout) {
      ++unknown;
      unknown_ms += op.ms.median;
    }
  if (!profile.judged)
    warnings.push_back(
        "no measured roofs of the machine that ran this: run `hone ceilings` there; until then "
        "busy time counts as floor");
  else if (unknown_ms > 0.01 * profile.step_ms)
    warnings.push_back(fmt::format("{} ({}) {} no known cost: their time is not judged",
                                   counted(unknown, "operator"), format_ms(unknown_ms),
                                   unknown == 1 ? "has" : "have"));
  return warnings;
}

std::vector<std::string> warnings_of(const trace::Trace& trace, const StepProfile& profile,
                                     const Analysis& analysis) {
  std::vector<std::string> warnings = trace.meta.warnings;
  if (trace.meta.dropped > 0)
    warnings.push_back(fmt::format(
        "{} records were dropped while recording: what looks like a gap may be work that is missing here",
        trace.meta.dropped));
  const std::vector<std::string> more = analysis.subject == Subject::kPlan
                                            ? plan_warnings(trace, profile, analysis.beaten_roofs)
                                            : host_program_warnings(trace, profile);
  warnings.insert(warnings.end(), more.begin(), more.end());
  return warnings;
}

// For a foreign program: its costs are those of one execution each, and it says nothing of its threads.
CostContext context_of(const trace::Trace& trace, const Roofs& roofs, Subject subject) {
  CostContext context =
      cost_context(trace, roofs, subject == Subject::kPlan ? trace.meta.threads : roofs.threads);
  context.repeated = subject != Subject::kPlan;
  return context;
}

bool has_phases(const trace::Trace& trace) {
  return std::any_of(trace.operators.begin(), trace.operators.end(),
                     [](const trace::Operator& op) { return op.phase != trace::Phase::kUnknown; });
}

bool are_of_gpu(const Roofs& roofs) {
  return roofs.machine.find("NVIDIA") != std::string::npos && device::gpu_roofs(roofs.machine).known();
}

Result<Analysis> analyze_host_trace(const trace::Trace& trace, const Roofs& roofs,
                                    const AnalyzeOptions& options) {
  std::vector<StepWindow> steps = find_steps(trace, options.rank);
  if (steps.empty())
    return invalid(
        fmt::format("{}: no steps are marked for rank {}, and nothing repeats that could be taken for steps",
                    options.source.empty() ? "trace" : options.source, options.rank));
  const Subject subject = subject_of(trace);
  if (const bool plan_of_gpu = subject == Subject::kPlan && trace.meta.device == "cuda";
      !plan_of_gpu && are_of_gpu(roofs))
    return invalid(fmt::format(
        "the roofs given (--roofs) are those of '{}', and the recording is of a CPU alone: give what `hone "
        "ceilings --json FILE` measures on that machine, or leave them out",
        roofs.machine));
  const CostContext context = context_of(trace, roofs, subject);
  // Steps of a plan do the same each time: what is longer there is the machine's.
  const Stalls stalls = subject == Subject::kPlan ? Stalls() : stalls_of(trace.meta, options.rank, steps);
  StepProfile profile = profile_steps(trace, steps, context, stalls);
  const device::PlanCounters counters(trace, roofs, options.kernels);
  counters.judge(profile);
  Analysis analysis;
  analysis.source = options.source;
  analysis.subject = subject;
  analysis.device = trace.meta.device;
  analysis.ranks = {options.rank};
  analysis.step = step_time(steps, stalls);
  tell_how_found(trace.meta, analysis.step);
  const std::optional<MeasuredSteps> measured = measured_steps(trace.meta, options.rank, stalls);
  std::vector<std::string> warnings_of_recorder;
  if (measured) {
    take_out_recorder(*measured, profile, analysis.step, warnings_of_recorder);
    tell_measured(*measured, analysis.step);
  }
  list_steps(steps, options.rank, analysis);
  if (subject != Subject::kPlan)
    analysis.loading = loading_of(trace.meta, options.rank, profile.step_ms,
                                  profile.waiting_ms[static_cast<std::size_t>(Cause::kInput)], stalls.recur);
  if (analysis.loading) tell_gain_of_processes(*analysis.loading, analysis.changes);
  analysis.ledger =
      make_ledger(trace, profile, subject, lines_between_operators(trace, options.rank), analysis.loading);
  counters.tell(profile, analysis.ledger);
  analysis.floor_ms = profile.floor_ms;
  analysis.floor_known = profile.judged;
  analysis.operators = operator_times(trace, profile);
  analysis.top = top_operators(trace, profile, context, options.top);
  for (TopOperator& row : analysis.top)
    if (const std::string said = counters.words(row.op); !said.empty()) row.why += "; by counters: " + said;
  if (subject == Subject::kPlan) analysis.counted_kernels = counters.kernels(profile.step_ms);
  analysis.verdict = make_verdict(analysis.ledger, analysis.step.ms.median);
  analysis.findings = make_findings(analysis.ledger, subject);
  analysis.roofline = roofline_points(trace, profile);
  analysis.beaten_roofs = beaten_roofs(trace, profile);
  add_timeline(trace, steps[typical_step(steps)], analysis);
  if (subject == Subject::kHostProgram) add_gaps(steps[typical_step(steps)], analysis);
  analysis.figures = metrics_of(trace, profile, analysis);
  const trace::HostUse use = total_host_use(trace, options.rank);
  analysis.targets = host_use_metrics(use, measured ? measured->unrecorded.median : analysis.step.ms.median);
  analysis.warnings = warnings_of(trace, profile, analysis);
  analysis.warnings.insert(analysis.warnings.end(), warnings_of_recorder.begin(), warnings_of_recorder.end());
  // Plans of models have none: every operator serves the same end.
  if (subject == Subject::kPlan && has_phases(trace)) analysis.phases = host_phases(trace, profile);
  if (subject != Subject::kPlan) {
    const bool device_missing = device_is_missing(trace);
    analysis.phases = host_phases(trace, profile);
    analysis.verdict = host_program_verdict(analysis, device_missing);
    if (device_missing) promise_nothing(analysis);
  }
  tell_where(analysis.ledger, analysis.verdict);
  qualify(trace, analysis);
  tell_without_cpu(use, analysis);
  if (trace.meta.contention.disturbed()) withhold_findings(trace.meta, analysis);
  return analysis;
}

// Of a snapshot alone: who holds memory, and nothing of time.
Analysis analysis_of_memory(MemoryFindings memory, const AnalyzeOptions& options) {
  Analysis analysis;
  analysis.source = options.source;
  analysis.subject = Subject::kDeviceProgram;
  analysis.device = "cuda";
  analysis.verdict.judged = false;
  const auto most = std::ranges::max_element(memory.devices, {}, &DeviceMemory::peak_bytes);
  analysis.verdict.sentence =
      fmt::format("A snapshot of memory, which tells nothing of time: {} in tensors of GPU {} at once",
                  format_bytes(most->peak_bytes), most->device);
  if (!most->holdings.empty() && most->holdings.front().share > 0)
    analysis.verdict.sentence +=
        fmt::format(", {} of that taken by {}", format_percent(most->holdings.front().share),
                    most->holdings.front().holder);
  analysis.verdict.sentence += '.';
  analysis.memory = std::make_shared<const MemoryFindings>(std::move(memory));
  return analysis;
}

}  // namespace

Result<Analysis> analyze_trace(const trace::Trace& trace, const Roofs& roofs, const AnalyzeOptions& options) {
  HONE_CHECK(trace.validate());
  MemoryFindings memory = study_memory(trace);
  if (!memory.devices.empty() && trace.spans.size() == 0)
    return analysis_of_memory(std::move(memory), options);
  HONE_ASSIGN(Analysis analysis, device::has_device_work(trace)
                                     ? device::analyze_device_trace(trace, roofs, options)
                                     : analyze_host_trace(trace, roofs, options));
  withhold_of_few_steps(trace, analysis);
  order_findings(analysis);
  if (analysis.loading) add_figures(*analysis.loading, analysis.figures);
  if (!memory.devices.empty()) analysis.memory = std::make_shared<const MemoryFindings>(std::move(memory));
  return analysis;
}

}  // namespace hone::analyze
