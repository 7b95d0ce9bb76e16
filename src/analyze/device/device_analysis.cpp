#include "analyze/device/device_analysis.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "analyze/device/accounts.h"
#include "analyze/device/change_gains.h"
#include "analyze/device/counted_kernels.h"
#include "analyze/device/critical_path.h"
#include "analyze/device/diagnosis/diagnose.h"
#include "analyze/device/diagnosis/verdict.h"
#include "analyze/device/gain_numbers.h"
#include "analyze/device/gains.h"
#include "analyze/device/metrics.h"
#include "analyze/device/operators.h"
#include "analyze/device/other_ranks.h"
#include "analyze/device/ranks.h"
#include "analyze/device/run_async.h"
#include "analyze/device/sampled_devices.h"
#include "analyze/device/self_check.h"
#include "analyze/device/step_timeline.h"
#include "analyze/device/study.h"
#include "analyze/device/work_without_operators.h"
#include "analyze/estimate.h"
#include "analyze/host_lines.h"
#include "analyze/host_use.h"
#include "analyze/rules.h"
#include "analyze/steps.h"
#include "core/units.h"
#include "trace/link/steps.h"

namespace hone::analyze::device {
namespace {

// Of what little is known of, no part is called needed: all of it stands in the row of what is not judged.
void claim_no_floor(Accounts& accounts) {
  Account& floor = accounts[static_cast<std::size_t>(Cause::kFloor)];
  Account& unjudged = accounts[static_cast<std::size_t>(Cause::kUnjudged)];
  unjudged.ms += std::exchange(floor.ms, 0);
  for (std::size_t k = 0; k < floor.window_ms.size(); ++k)
    unjudged.window_ms[k] += std::exchange(floor.window_ms[k], 0);
  for (AccountEntry& entry : floor.entries) {
    entry.rule = general_rule(Cause::kUnjudged);
    unjudged.entries.push_back(std::move(entry));
  }
  floor.entries.clear();
  std::stable_sort(unjudged.entries.begin(), unjudged.entries.end(),
                   [](const AccountEntry& a, const AccountEntry& b) { return a.ms > b.ms; });
}

// Of what no operator says what it needs, counters do: as the kernel stands.
void tell_judged_by_counters(const Study& study, const Accounts& accounts, Analysis& analysis) {
  constexpr double kMatters = 0.05;  // of the row
  for (LedgerRow& row : analysis.ledger) {
    if (row.cause != Cause::kFloor && row.cause != Cause::kKernelInefficiency) continue;
    double ms = 0;
    for (const AccountEntry& entry : accounts[static_cast<std::size_t>(row.cause)].entries)
      if (entry.op != kNothing && study.trace->operators[entry.op].measured) ms += entry.ms;
    if (ms > kMatters * row.ms)
      row.evidence.push_back(
          fmt::format("{} of it by counters: no operator says what these kernels need, so what they did was "
                      "compared with the roofs",
                      fixed_ms(std::min(ms, row.ms), analysis.step.ms.median)));
  }
}

// The device whose roofs the program is judged by: the one that works longest for the first rank.
const trace::DeviceInfo* judged_device(const trace::Trace& trace, const std::vector<RankTimeline>& ranks) {
  return ranks.empty() ? nullptr : device_info(trace, ranks.front().rank, ranks.front().ledger_device());
}

// Errors: the table that was given is of something else.
Result<GpuRoofs> roofs_of(const trace::DeviceInfo* device, const Roofs& given) {
  const std::string name = device == nullptr ? std::string() : device->name;
  GpuRoofs known = gpu_roofs(name);
  if (known.known() && device->multiprocessors > 0) known.multiprocessors = device->multiprocessors;
  if (given.compute.empty() && given.memory.empty()) return known;
  if (!name.empty() && !are_roofs_of(given, name))
    return invalid(fmt::format(
        "the roofs given (--roofs) are those of '{}', and the recording is of '{}': {}", given.machine, name,
        known.known() ? "leave them out, for hone knows this device's"
                      : "give a table of that device, whose 'machine' has its name, or leave them out"));
  return gpu_roofs_from(given, known);
}

std::vector<RoofLine> roof_lines(const GpuRoofs& roofs) {
  std::vector<RoofLine> lines;
  for (const KernelMath math : {KernelMath::kF64, KernelMath::kVectorF32, KernelMath::kTf32, KernelMath::kF16,
                                KernelMath::kBf16, KernelMath::kF8, KernelMath::kI8})
    if (const double rate = roofs.matrix_roof(math); rate > 0)
      lines.push_back({fmt::format("{} compute", trace::kernel_math_type(math)), rate, 0});
  if (roofs.dram > 0) lines.push_back({"DRAM", 0, roofs.dram});
  return lines;
}

StepTime step_time(const Study& study) {
  StepTime time;
  const trace::StepsFound found = trace::steps_found(study.trace->meta);
  const RankTimeline& shown = study.timelines[study.headline];
  for (const DeviceStep& step : shown.steps) time.samples_ms.push_back(step.ms());
  time.ms = median_estimate(time.samples_ms);
  if (shown.stalls.recur) tell_stalls(shown.stalls, time);
  time.count = static_cast<int>(time.samples_ms.size());
  time.how_found = found.how.empty() ? "marks in the trace" : found.how;
  if (!found.how.empty() && found.confidence > 0) time.confidence = found.confidence;
  time.notes = found.notes;
  if (std::string doubt = doubt_in_steps(time); !doubt.empty()) time.notes.push_back(std::move(doubt));
  std::vector<int32_t> numbers;
  for (const DeviceStep& step : shown.steps) numbers.push_back(step.step);
  note_outliers(numbers, time);
  return time;
}

// Steps were recorded; the step that is told is the one that users run.
void tell_without_recorder(const Study& study, const MeasuredSteps& measured, StepTime& time) {
  const TypicalStep& typical = study.ranks[study.headline].typical;
  if (typical.ms < typical.recorded_ms) {
    time.recorded_ms = time.ms;
    time.ms = measured.unrecorded;
    for (double& ms : time.samples_ms) ms *= typical.ms / typical.recorded_ms;
  }
  tell_measured(measured, time);
}

// Idle time that follows from waits: after a wait has drained the queue the host must launch again from
// nothing. That part is what the replay wins without waits beyond the waits themselves.
void move_waits(Accounts& accounts, const Gains& gains) {
  if (!gains.can_predict()) return;
  Account& sync = accounts[static_cast<std::size_t>(Cause::kHostSync)];
  Account& launch = accounts[static_cast<std::size_t>(Cause::kLaunch)];
  const double unhidden = std::max(gains.recorded_sync_ms(), gains.of(Cause::kHostSync));
  const double more = std::min(unhidden - sync.ms, 0.9 * launch.ms);
  if (more <= 0 || launch.ms <= 0) return;
  const double scale = 1 - more / launch.ms;
  launch.ms -= more;
  for (AccountEntry& entry : launch.entries) entry.ms *= scale;
  sync.ms += more;
  for (std::size_t k = 0; k < std::min(sync.window_ms.size(), launch.window_ms.size()); ++k) {
    sync.window_ms[k] += launch.window_ms[k] * (1 - scale);
    launch.window_ms[k] *= scale;
  }
  AccountEntry entry;
  entry.name = "launching again from an empty queue";
  entry.rule = sync.main_rule();
  entry.ms = more;
  sync.entries.push_back(std::move(entry));
}

std::vector<std::string> warnings_of(const Study& study, const Gains& gains, const Coverage& coverage) {
  const trace::Trace& trace = *study.trace;
  std::vector<std::string> warnings = trace.meta.warnings;
  if (trace.meta.dropped > 0 && study.evidence[study.headline].missing().empty())
    warnings.push_back(fmt::format(
        "{} records were dropped while recording: what looks idle may be work that is missing here",
        trace.meta.dropped));
  if (!gains.has_launches())
    warnings.emplace_back(
        "the trace has no launches of the host: why the device was idle cannot be told, and gains are only "
        "what its own work would save");
  if (study.ranks[study.headline].measured_others)
    warnings.emplace_back(
        "steps that nobody recorded took less time than the device worked in those that were recorded: the "
        "program does "
        "not do the same all the time, and what its step takes without the recorder is not known");
  if (!study.roofs.known())
    warnings.push_back(fmt::format(
        "{}: how fast its kernels could be is not judged; give its roofs with --roofs FILE",
        trace.meta.devices.empty() || trace.meta.devices.front().name.empty()
            ? std::string("the trace does not name its device")
            : fmt::format("hone has no roofs for the device '{}'", trace.meta.devices.front().name)));
  else if (study.roofs.origin == RoofOrigin::kDataSheet)
    warnings.push_back(
        fmt::format("the roofs of {} come from its data sheet: real kernels stay somewhat below them",
                    study.roofs.device));
  // Of a program on CuPy or CUDA, none is: that is how it is, and no fault of the recording.
  if (coverage.linked_share > 0 && coverage.linked_share < 0.95)
    warnings.push_back(fmt::format("{} of the device's time could not be traced back to an operator",
                                   format_percent(1 - coverage.linked_share)));
  if (gains.recorder_slows() && !gains.measured()) {
    const double step = study.ranks[study.headline].typical.ms;
    const std::string about = fixed_ms(gains.unrecorded_ms(), step);
    const std::string range = fixed_range(gains.low_unrecorded_ms(), gains.high_unrecorded_ms(), step);
    warnings.push_back(fmt::format(
        "recording slowed this program: without the recorder a step takes about {}{} instead of {}; gains "
        "are predicted for that",
        about, range == about ? "" : fmt::format(" ({}, depending on what recording costs this host)", range),
        fixed_ms(step, step)));
  }
  return warnings;
}

// Where one process drives several devices the ledger shows one; and roofs are those of one device.
void warn_of_devices(const Study& study, Analysis& analysis) {
  const RankTimeline& timeline = study.timelines[study.headline];
  if (timeline.devices.size() > 1) {
    std::string others;
    for (const RankSummary& row : analysis.rank_summaries)
      if (row.rank == timeline.rank && row.device_index != timeline.ledger_device())
        others += fmt::format("{}device {} is busy {}", others.empty() ? "" : ", ", row.device_index,
                              format_percent(row.busy_share));
    analysis.warnings.push_back(
        fmt::format("one process drives {} devices: the ledger, the kernels and the numbers are those of "
                    "device {}, which works longest; gains are those of the whole step; {}",
                    timeline.devices.size(), timeline.ledger_device(), others));
  }
  std::set<std::string> names;
  std::string listed;
  for (const RankTimeline& each : study.timelines)
    for (int device : each.devices)
      if (const auto* info = device_info(*study.trace, each.rank, device); info != nullptr)
        if (names.insert(info->name).second) listed += (listed.empty() ? "" : ", ") + info->name;
  if (names.size() > 1)
    analysis.warnings.push_back(
        fmt::format("the program runs on different devices ({}): all are judged by the "
                    "roofs of {}",
                    listed, analysis.device));
}

// On the clock of the trace.
void list_steps(const Study& study, Analysis& analysis) {
  for (const RankTimeline& timeline : study.timelines)
    for (const DeviceStep& step : timeline.steps)
      analysis.step_spans.push_back({timeline.rank, step.step, step.start_ns - timeline.clock_shift_ns,
                                     step.end_ns - timeline.clock_shift_ns});
}

// Which ranks have recordings, which of them is shown, and which is late.
void describe_ranks(const Study& study, const Gains& gains, Analysis& analysis) {
  for (const trace::RankInfo& info : study.trace->meta.ranks)
    analysis.world_size = std::max(analysis.world_size, info.world_size);
  for (const RankOfOtherRun& other : study.of_other_runs)
    analysis.left_out.push_back({other.rank, other.why});
  const RankTimeline& shown = study.timelines[study.headline];
  analysis.ledger_rank = shown.rank;
  if (shown.devices.size() > 1) analysis.ledger_device = shown.ledger_device();
  analysis.dropped_records = static_cast<double>(study.trace->meta.dropped);
  const Straggler& late = gains.straggler();
  if (study.timelines.size() < 2 || late.rank == study.headline) return;
  analysis.late_rank = {late.number, late.cause, late.longer_ms};
  if (!gains.can_predict()) return;
  const Gains::StragglerGain gain = gains.straggler_gain();
  analysis.late_rank->removed_gain_ms = gain.removed_ms;
  analysis.late_rank->shared_gain_ms = gain.shared_ms;
}

// Ranks that were recorded in another run are not spoken of, and the verdict says whose it is.
void tell_ranks_of_other_runs(const Study& study, Analysis& analysis) {
  if (study.of_other_runs.empty()) return;
  const bool alone = analysis.ranks.size() == 1;
  std::string whose;
  for (int rank : analysis.ranks) whose += fmt::format("{}{}", whose.empty() ? "" : ", ", rank);
  analysis.verdict.sentence =
      fmt::format("Of rank{} {} alone: {}", alone ? "" : "s", whose, analysis.verdict.sentence);
  for (const RankOfOtherRun& other : study.of_other_runs)
    analysis.warnings.insert(
        analysis.warnings.begin(),
        fmt::format(
            "rank {} is left out, because its file does not look like a recording of the same run: {}. "
            "Who waits for whom cannot be told; give the files that one run wrote",
            other.rank, other.why));
}

// Clocks as far apart as two runs: what makes them one must be said.
void warn_of_clocks(const Study& study, Analysis& analysis) {
  constexpr double kFarS = 1;
  for (const RankTimeline& timeline : study.timelines) {
    const double behind =
        static_cast<double>(timeline.clock_shift_ns - study.timelines[0].clock_shift_ns) * 1e-9;
    if (std::abs(behind) > kFarS)
      analysis.warnings.push_back(fmt::format(
          "the clock of rank {} is {:.3f} s {} that of rank {}; their collectives end alike, so they are "
          "treated as ranks of one run, and their clocks are aligned",
          timeline.rank, std::abs(behind), behind < 0 ? "ahead of" : "behind", study.timelines[0].rank));
  }
}

// There may be less here about other ranks than the reader thinks.
void warn_of_ranks(bool observed, Analysis& analysis) {
  const int world = analysis.world_size;
  const auto given = static_cast<int>(analysis.ranks.size());
  if (given < world)
    analysis.warnings.push_back(fmt::format(
        "{} of {} ranks: without the others, waiting for a rank cannot be told from communicating; "
        "give the files of all of them",
        given, world));
  for (const LedgerRow& row : analysis.ledger)
    if (row.cause == Cause::kStraggler && row.share > kHealthyShare && row.predicted_gain_ms < 0.1 * row.ms)
      analysis.warnings.push_back(fmt::format(
          "{} of waiting for a rank ({}) is attributed to the recorder, which slows the hosts of the "
          "ranks unequally{}",
          fixed_ms(row.ms, analysis.step.ms.median), format_percent(row.share),
          observed ? "" : "; record again without record_shapes to be sure"));
}

}  // namespace

bool has_device_work(const trace::Trace& trace) { return !device_ranks(trace).empty(); }

Result<Analysis> analyze_device_trace(const trace::Trace& trace, const Roofs& roofs,
                                      const AnalyzeOptions& options) {
  std::vector<RankTimeline> timelines = rank_timelines(trace);
  const trace::DeviceInfo* device = judged_device(trace, timelines);
  HONE_ASSIGN(GpuRoofs judged_by, roofs_of(device, roofs));
  const Study study = make_study(trace, std::move(timelines), std::move(judged_by));
  if (study.timelines.empty())
    return invalid(fmt::format("{}: no steps are marked, and nothing repeats that could be taken for steps",
                               options.source.empty() ? "trace" : options.source));
  auto tables_later = run_async([&] {
    OperatorTables tables = make_operator_tables(study, study.headline, options.top);
    list_work_without_operators(study, study.headline, options.top, tables);
    return tables;
  });
  auto path_later = run_async([&] { return critical_path(study); });
  Accounts accounts = make_accounts(study, study.headline);
  const Gains gains(study, accounts);
  move_waits(accounts, gains);
  Analysis analysis;
  OperatorTables tables = tables_later.get();
  OtherRanks others = other_ranks(study, gains.straggler(), tables.operators);
  const std::vector<std::string> doubts = self_check(tables, study.roofs);
  const std::vector<CollectiveSummary> collectives = collective_summaries(study);
  analysis.sampled = sampled_devices(trace);
  const RankTimeline& shown = study.timelines[study.headline];
  analysis.targets = device_metrics(study, accounts, tables, collectives,
                                    find_sampled(analysis.sampled, shown.rank, shown.ledger_device()));
  const trace::HostUse use = total_host_use(trace, study.timelines[study.headline].rank);
  for (Metric& metric : host_use_metrics(use, gains.unrecorded_ms()))
    analysis.targets.push_back(std::move(metric));
  analysis.floor_known = study.roofs.known() && tables.coverage.costed_share >= kJudgedShare;
  if (!analysis.floor_known) claim_no_floor(accounts);
  Diagnosis diagnosis = diagnose(study, accounts, gains, others.late);
  analysis.source = options.source;
  analysis.subject = Subject::kDeviceProgram;
  analysis.device = study.roofs.known() ? study.roofs.device : trace.meta.device;
  if (device != nullptr) analysis.device = device->name;
  analysis.ranks.clear();
  for (const RankTimeline& timeline : study.timelines) analysis.ranks.push_back(timeline.rank);
  describe_ranks(study, gains, analysis);
  if (analysis.late_rank) analysis.late_rank->operators = std::move(others.late);
  analysis.elsewhere = std::move(others.elsewhere);
  analysis.elsewhere_known = others.known;
  analysis.step = step_time(study);
  list_steps(study, analysis);
  if (gains.can_predict())
    analysis.step.unrecorded_ms = {gains.unrecorded_ms(), gains.low_unrecorded_ms(),
                                   gains.high_unrecorded_ms()};
  if (gains.measured()) tell_without_recorder(study, *gains.measured(), analysis.step);
  analysis.floor_ms = accounts[static_cast<std::size_t>(Cause::kFloor)].ms;
  analysis.ledger = std::move(diagnosis.ledger);
  analysis.findings = std::move(diagnosis.findings);
  analysis.changes = change_gains(study, accounts, gains);
  analysis.loading = std::move(diagnosis.loading);
  if (analysis.loading) tell_gain_of_processes(*analysis.loading, analysis.changes);
  analysis.verdict = std::move(diagnosis.verdict);
  analysis.operators = std::move(tables.operators);
  analysis.top = std::move(tables.top);
  analysis.roofline = std::move(tables.roofline);
  analysis.kernels = std::move(tables.kernels);
  analysis.counted_kernels = counted_kernels(study);
  analysis.phases = std::move(tables.phases);
  analysis.coverage = std::move(tables.coverage);
  if (gains.has_launches()) tell_judged_by_counters(study, accounts, analysis);
  analysis.roof_lines = roof_lines(study.roofs);
  analysis.roofs_source = study.roofs.source;
  analysis.rank_summaries = rank_summaries(study);
  if (analysis.rank_summaries.size() == 1) analysis.rank_summaries.clear();
  analysis.collectives = collectives;
  analysis.critical_path = path_later.get();
  add_step_timeline(study, analysis);
  analysis.figures["unrecorded_step_ms"] = gains.unrecorded_ms();
  analysis.figures["low_unrecorded_step_ms"] = gains.low_unrecorded_ms();
  analysis.figures["high_unrecorded_step_ms"] = gains.high_unrecorded_ms();
  if (const std::optional<double> host_ms = gains.host_ms()) analysis.figures["host_step_ms"] = *host_ms;
  analysis.figures["replay_error"] = gains.error();
  if (const double gap_ns = study.activities[study.headline].operator_gap_ns; gap_ns > 0)
    analysis.figures["operator_gap_us"] = gap_ns * 1e-3;
  analysis.warnings = warnings_of(study, gains, *analysis.coverage);
  warn_of_devices(study, analysis);
  warn_of_clocks(study, analysis);
  warn_of_ranks(!trace.meta.blocks.empty(), analysis);
  analysis.warnings.insert(analysis.warnings.end(), doubts.begin(), doubts.end());
  if (gains.measured())
    if (std::string longer = longer_alone(*gains.measured(), analysis.step.as_recorded().median);
        !longer.empty())
      analysis.warnings.push_back(std::move(longer));
  tell_where(analysis.ledger, analysis.verdict);
  qualify(study.evidence[study.headline], analysis);
  tell_ranks_of_other_runs(study, analysis);
  tell_without_cpu(use, analysis);
  return analysis;
}

}  // namespace hone::analyze::device
