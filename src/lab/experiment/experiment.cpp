#include "lab/experiment/experiment.h"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyze/analyze.h"
#include "analyze/estimate.h"
#include "core/units.h"
#include "lab/ceilings/device_ceilings.h"
#include "lab/counters/count_sides.h"
#include "lab/experiment/as_it_runs.h"
#include "lab/experiment/describe.h"
#include "lab/experiment/pass_row.h"
#include "lab/experiment/phases.h"
#include "lab/experiment/price.h"
#include "lab/experiment/profile.h"
#include "lab/experiment/reference_judge.h"
#include "lab/experiment/target.h"
#include "lab/experiment/trials.h"
#include "lab/precision/batch_sample.h"
#include "lab/precision/choose_precision.h"
#include "lab/prepared.h"
#include "lab/where_it_runs.h"
#include "passes/pipeline.h"
#include "runtime/autotune.h"
#include "runtime/interpreter.h"
#include "runtime/plugin_reference.h"

namespace hone::lab {
namespace {

using analyze::Estimate;
using graph::Graph;
using runtime::Plan;

// Shares of the budget. The groups of passes have the rest, less what went before them.
constexpr double kProfileShare = 0.06;  // each of the profiles
constexpr double kFinalShare = 0.20;    // baseline against the result, without the steps recorded meanwhile
constexpr double kLeastTrialShare = 0.075;  // of a group that is measured, even if nothing is left
constexpr double kPrecisionShare = 0.1;     // of a lossy group's search for what must stay in f32
constexpr int kProfiledSteps = 100;         // that the profiles of the result want, while there is time
constexpr double kCountingShare = 0.1;      // left for counting kernels, where that is wanted
constexpr double kCountingProgress = 0.99;

Estimate estimate(const Interval& interval) { return {interval.median, interval.low, interval.high}; }

// "a, b, c and 17 more".
std::string first_of(const std::vector<std::string>& all) {
  constexpr std::size_t kNamed = 5;
  const auto named = std::span(all).first(std::min(kNamed, all.size()));
  const std::string rest = all.size() > kNamed ? fmt::format(" and {} more", all.size() - kNamed) : "";
  return fmt::format("{}{}", fmt::join(named, ", "), rest);
}

class Runner {
 public:
  Runner(const runtime::Provider& provider, const Machine& machine, const Roofs& roofs,
         const ExperimentOptions& options, Judge& judge)
      : provider_(provider),
        machine_(machine),
        roofs_(roofs),
        options_(options),
        judge_(judge),
        cache_(runtime::TimingCache::open(options.timing_cache)) {}

  Result<Experiment> run(const Graph& graph) {
    HONE_CHECK(measure(graph));
    count_kernels();
    experiment_.report.phases = phases_.times();
    (void)cache_.save();  // a convenience: the next run measures again if it could not be written
    return std::move(experiment_);
  }

 private:
  Status measure(const Graph& graph) {
    const std::unique_ptr<runtime::Hold> hold = provider_.hold();
    HONE_CHECK(prepare_baseline(graph));
    phases_.enter("reference");
    HONE_CHECK(prepare_judge());
    HONE_CHECK(measure_baseline());
    if (const Status improved = improve(); !improved.ok()) {
      if (improved.error().code != ErrorCode::kCancelled) return improved.error();
      leave_partial();
    }
    describe();
    return {};
  }

  Status improve() {
    HONE_CHECK(try_groups());
    HONE_CHECK(measure_result());
    return check_result();
  }

  // What was not measured to its end is left out: the baseline and the decisions about passes stand.
  void leave_partial() {
    analyze::LabReport& report = experiment_.report;
    report.interrupted = said_.second;
    report.optimised = {};
    report.result = {};
    report.numerics.clear();
    experiment_.optimised_trace = {};
  }

  bool keep_going() const { return !options_.progress || options_.progress(said_.first, said_.second); }

  Status say(double fraction, const std::string& what) {
    said_ = {fraction, what};
    if (options_.progress && !options_.progress(fraction, what))
      return Error{ErrorCode::kCancelled,
                   "interrupted before the baseline was measured; nothing was written"};
    return {};
  }

  // The model as given, with what is known before it runs computed: shapes must be numbers for a plan.
  Status prepare_baseline(const Graph& graph) {
    phases_.enter("reading the model");
    HONE_CHECK(say(0.01, "reading the model's shapes"));
    context_ = passes::PassContext{runtime::interpret_node, nullptr, pass_target(provider_)};
    context_.narrow_residual = options_.narrow_residual;
    passes::PipelineOptions fold;
    fold.only = {"fold_constants"};
    if (!graph.states().empty()) {
      // Of a training step also what no kernel will take, in the types that may be tried.
      fold.only.insert("spell_out");
      context_.narrows_to = narrow_type_of(options_.lossy);
    }
    HONE_ASSIGN(passes::PipelineResult folded, passes::run_pipeline(graph, context_, fold));
    baseline_graph_ = std::move(folded.graph);
    take_sample(graph);
    HONE_CHECK(make_all_inputs());
    return runtime::check_inputs(baseline_graph_, inputs_.tensors);
  }

  // Rows of the batch that the reference and interpretations are of, where the whole batch would take them long.
  void take_sample(const Graph& model) {
    if (!judge_.judges_interpretations() || options_.metric)
      return;  // the task's metric is of the whole batch
    const int64_t rows = rows_to_compute(baseline_graph_, options_.most_reference_flops);
    if (rows == 0) return;
    analyze::ReferenceRows& said = experiment_.report.reference_rows;
    said.batch = batch_of(baseline_graph_);
    auto sample = sample_batch(model, baseline_graph_, rows, context_);
    if (sample.ok())
      sample_ = std::move(*sample);
    else
      said.why_all = sample.error().message;
    said.all_given = sample.ok() && !options_.inputs.empty();
    said.rows = sample.ok() ? rows : said.batch;
  }

  // What users give is computed as it is; what is made up is made for the sample, whose rows the batch holds over again.
  Status make_all_inputs() {
    if (!sample_ || !options_.inputs.empty()) {
      HONE_ASSIGN(inputs_, make_inputs(baseline_graph_, options_.seed, options_.inputs));
      if (!sample_) return {};
      HONE_ASSIGN(sampled_inputs_, BatchSample::first_rows(inputs_.tensors, sample_->inputs));
      return {};
    }
    HONE_ASSIGN(Inputs few, make_inputs(sample_->graph, options_.seed));
    HONE_ASSIGN(inputs_.tensors, sample_->spread(few.tensors, sample_->inputs));
    for (std::size_t i = 0; i < few.notes.size(); ++i)
      inputs_.notes.push_back(sample_->inputs[i].any_longer()
                                  ? fmt::format("{}; {} rows, over again in the batch of {}", few.notes[i],
                                                sample_->rows, sample_->batch())
                                  : few.notes[i]);
    sampled_inputs_ = std::move(few.tensors);
    return {};
  }

  Status prepare_judge() {
    const bool all_rows = !sample_ || experiment_.report.reference_rows.all_given;
    HONE_CHECK(say(0.03, judge_.preparing() + (all_rows ? "" : ", of " + sample_->text() + " of the batch")));
    if (!sample_) return judge_.prepare(baseline_graph_, inputs_.tensors);
    return judge_.prepare_by_rows(baseline_graph_, inputs_.tensors, *sample_, sampled_inputs_, all_rows);
  }

  // Every plan of the experiment times its kernels as in a step of the baseline's size: they share readings.
  Result<std::unique_ptr<Plan>> compile(const Graph& graph, double fraction, const std::string& what) {
    phases_.enter("choosing kernels");
    const auto progress = [&](std::size_t done, std::size_t total, const std::string& node) {
      const double part = static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(1, total));
      return say(fraction + 0.02 * part, what + (node.empty() ? "" : ": " + node)).ok();
    };
    HONE_ASSIGN(const Graph runs, as_it_runs(graph, context_));
    return compile_plan(runs, provider_, inputs_.tensors,
                        {.cache = &cache_,
                         .step_bytes = runtime::step_bytes(baseline_graph_),
                         .progress = progress,
                         .overlap = options_.overlap});
  }

  ProfileOptions profile_options(const std::string& source) const {
    ProfileOptions profile;
    profile.budget_ns = static_cast<int64_t>(options_.budget_s * kProfileShare * 1e9);
    profile.top = options_.top;
    profile.source = source;
    profile.machine = machine_title(machine_);
    profile.device = provider_.name();
    profile.threads = provider_.threads();
    return profile;
  }

  Result<Profile> profile_baseline() {
    phases_.enter("profiles");
    return profile_plan(*baseline_plan_, roofs_, profile_options("baseline"));
  }

  Result<PairedResult> compare(Plan& before, Plan& after, PairedOptions paired, double from, double to,
                               const std::string& what) {
    phases_.enter("paired runs");
    HONE_CHECK(say(from, what));
    paired.progress = [this, from, to, what](double done) {
      return say(from + (to - from) * done, what).ok();
    };
    paired.keep_going = [this] { return keep_going(); };
    paired.after_block = [&, more = std::move(paired.after_block)](int block) -> Status {
      HONE_CHECK(judge_.start_anew(before));
      HONE_CHECK(judge_.start_anew(after));
      return more ? more(block) : Status();
    };
    return run_paired([&] { return before.run(); }, [&] { return after.run(); }, paired);
  }

  // Measures the roofs again that operators of these profiles have beaten, and reads the profiles anew.
  Status correct_roofs(const std::vector<Profile*>& profiles) {
    RoofChoice choice;
    std::string beaten;
    for (const Profile* seen : profiles) {
      for (const analyze::BeatenRoof& row : seen->analysis.beaten_roofs) add_roof(row, choice);
      if (beaten.empty() && !seen->analysis.beaten_roofs.empty())
        beaten = beaten_text(seen->analysis.beaten_roofs.front());
    }
    if (beaten.empty() || roof_looks_-- <= 0) return {};
    if (has_gpu_roofs(std::string(provider_.name())))
      return {};  // a GPU's roofs are measured all at once: the analysis warns
    phases_.enter("roofs again");
    CeilingsOptions measure;
    measure.cache_folder = options_.roofs_cache;
    const double fraction = said_.first;
    measure.progress = [&](double) { return say(fraction, "measuring roofs again").ok(); };
    HONE_ASSIGN(BetterRoofs better, measure_again(roofs_, choice, machine_, measure));
    if (better.changes.empty()) return {};  // the analysis warns
    roof_notes_.push_back(fmt::format("{}; measured again: {}", beaten, fmt::join(better.changes, ", ")));
    roofs_ = std::move(better.roofs);
    for (Profile* seen : profiles) {
      HONE_ASSIGN(seen->analysis,
                  analyse_profile(seen->trace, roofs_, profile_options(seen->analysis.source)));
    }
    return {};
  }

  static std::string beaten_text(const analyze::BeatenRoof& row) {
    return fmt::format("{} took {:.3g} ms, {:.0f} % less than the {} roof as it was first measured allows",
                       row.name, row.ms, 100 * (1 - row.ms / row.least_ms), row.roof);
  }

  void add_roof(const analyze::BeatenRoof& row, RoofChoice& choice) const {
    const auto add = [](auto& list, const auto& item) {
      if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
    };
    if (!row.memory_level.empty()) return add(choice.memory_levels, row.memory_level);
    const bool own = std::any_of(roofs_.compute.begin(), roofs_.compute.end(),
                                 [&](const ComputeRoof& roof) { return roof.dtype == row.dtype; });
    add(choice.dtypes, own ? row.dtype : DType::kF32);
  }

  Status measure_baseline() {
    HONE_ASSIGN(baseline_plan_, compile(baseline_graph_, 0.15, "choosing kernels for the baseline"));
    HONE_CHECK(say(0.25, "profiling the baseline"));
    runtime::PlanOptions tune;
    tune.cache = &cache_;
    tune.step_bytes = runtime::step_bytes(baseline_graph_);
    tune.keep_going = [this] { return keep_going(); };
    tuner_.emplace(provider_, tune);
    prices_.emplace(*tuner_);
    HONE_ASSIGN(Profile seen, profile_baseline());
    if (!learn(*baseline_plan_, seen.trace).empty()) {  // some kernels were chosen by disturbed readings
      HONE_ASSIGN(baseline_plan_,
                  compile(baseline_graph_, 0.27, "choosing again where a reading was disturbed"));
      HONE_ASSIGN(seen, profile_baseline());
      learn(*baseline_plan_, seen.trace);
    }
    HONE_CHECK(correct_roofs({&seen}));
    phases_.enter("reference");
    HONE_CHECK(judge_.see_unchanged(*baseline_plan_));
    how_predicted_ =
        "predictions: operators of the baseline cost what its profile saw; new ones, what they take "
        "alone × what those of their class take in the step ÷ alone: " +
        prices_->ratios_text();
    experiment_.report.baseline = std::move(seen.analysis);
    experiment_.baseline_trace = std::move(seen.trace);
    context_.price = [this](const Graph& graph) {
      const std::string before = phases_.enter("choosing kernels");  // pricing times the kernels of new nodes
      const Result<Graph> runs = as_it_runs(graph, context_);
      const double seconds = prices_->step(runs.ok() ? *runs : graph);
      phases_.enter(before);
      return seconds;
    };
    return {};
  }

  std::vector<Contradiction> learn(const Plan& plan, const trace::Trace& seen) {
    phases_.enter("choosing kernels");  // what was not yet timed alone is now
    std::vector<Contradiction> contradictions = prices_->learn(plan, seen);
    for (const Contradiction& found : contradictions)
      contradictions_.push_back(fmt::format("{} ({:.2f} ms alone, {:.2f} ms in the step)", found.node,
                                            found.alone * 1e3, found.seen * 1e3));
    return contradictions;
  }

  // What is left for all trials: the experiment's budget without what the phases before took and what those
  // after will need.
  double trials_seconds_left() {
    const double counting = options_.counters ? kCountingShare : 0;
    const double reserved = options_.budget_s * (2 * kProfileShare + kFinalShare + counting);
    return options_.budget_s - reserved - phases_.seconds();
  }

  TrialSteps trial_steps() {
    TrialSteps steps;
    steps.apply = [this](const Graph& graph, const std::string& group) -> Result<passes::PipelineResult> {
      phases_.enter("applying passes");
      passes::PipelineOptions only;
      only.only = {group};
      only.disabled = options_.disabled_passes;
      only.lossy = options_.lossy;
      passes::PassContext context = context_;
      if (passes::lossy_limit_of(group) > 0) {
        HONE_ASSIGN(context.keep_f32, kept_in_f32(graph, group, only));
        phases_.enter("applying passes");
      }
      return passes::run_pipeline(graph, context, only);
    };
    steps.compile = [this](const Graph& graph, const std::string& group, double done) {
      return compile(graph, trials_progress(done), "choosing kernels after " + group);
    };
    steps.compare = [this](Plan& before, Plan& after, const TrialComparison& wanted) {
      PairedOptions paired;
      paired.budget_ns = std::max<int64_t>(1, static_cast<int64_t>(wanted.seconds * 1e9));
      paired.level = wanted.level;
      paired.min_blocks = wanted.min_blocks;
      return compare(before, after, paired, trials_progress(wanted.from), trials_progress(wanted.to),
                     wanted.what);
    };
    steps.check = [this](Plan& plan, const std::vector<std::string>& groups) {
      phases_.enter("checking numbers");
      return check(plan, groups);
    };
    steps.seconds_left = [this] { return trials_seconds_left(); };
    steps.least_seconds = options_.budget_s * kLeastTrialShare;
    steps.step_ms = experiment_.report.baseline.step.ms.median;
    return steps;
  }

  // What the passes of a lossy group must leave in f32 for this model. Measured once for each group.
  Result<KeptInF32> kept_in_f32(const Graph& graph, const std::string& group,
                                const passes::PipelineOptions& only) {
    if (!judge_.judges_interpretations()) return KeptInF32();
    if (const auto known = precision_.find(group); known != precision_.end()) return known->second.keep_f32;
    phases_.enter("measuring precision");
    const std::string on_rows = sample_ ? fmt::format(", on {} of the batch", sample_->text()) : "";
    HONE_CHECK(
        say(said_.first, fmt::format("measuring what {} costs each operator's numbers{}", group, on_rows)));
    const int64_t start = now_ns();
    const double most_seconds = kPrecisionShare * options_.budget_s;
    PrecisionSearch search;
    search.lower = [&](const KeptInF32& keep) -> Result<LoweredGraph> {
      passes::PassContext context = context_;
      context.price = nullptr;
      context.keep_f32 = keep;
      HONE_ASSIGN(passes::PipelineResult lowered, passes::run_pipeline(graph, context, only));
      LoweredGraph result{std::move(lowered.graph), {}};
      for (const passes::PassReport& report : lowered.reports)
        result.types.insert(result.types.end(), report.types.begin(), report.types.end());
      return result;
    };
    search.judge = [&](std::span<const Tensor> outputs) {
      return judge_.check_interpreted(graph, outputs, passes::lossy_limit_of(group));
    };
    search.more_time = [=] { return static_cast<double>(now_ns() - start) * 1e-9 < most_seconds; };
    search.keep_going = [this] { return keep_going(); };
    HONE_ASSIGN(precision_[group], chosen_precision(graph, search));
    return precision_[group].keep_f32;
  }

  // On the sample; on the whole batch where what passes have made of the graph cannot be interpreted on fewer rows.
  Result<PrecisionDecision> chosen_precision(const Graph& graph, const PrecisionSearch& search) {
    if (!sample_) return choose_precision(graph, inputs_.tensors, search);
    PrecisionSearch on_rows = search;
    on_rows.lower = [&](const KeptInF32& keep) -> Result<LoweredGraph> {
      HONE_ASSIGN(LoweredGraph lowered, search.lower(keep));
      HONE_ASSIGN(lowered.graph, sample_->for_rows(lowered.graph));
      return lowered;
    };
    HONE_ASSIGN(const Graph before, sample_->for_rows(graph));
    auto decision = choose_precision(before, sampled_inputs_, on_rows);
    if (decision.ok()) {
      decision->how += fmt::format("; on {} of the batch", sample_->text());
      return decision;
    }
    if (decision.error().code == ErrorCode::kCancelled) return decision;
    HONE_CHECK(say(said_.first, "measuring precision on the whole batch: " + decision.error().message));
    HONE_ASSIGN(PrecisionDecision on_all, choose_precision(graph, inputs_.tensors, search));
    on_all.how += fmt::format("; on the whole batch, as it could not be measured on {} of it: {}",
                              sample_->text(), decision.error().message);
    return on_all;
  }

  // By the limits of what is in the plan: those of its lossy passes only where it has any.
  Result<NumericReport> check(Plan& plan, const std::vector<std::string>& groups) {
    double lossy = 0;
    for (const std::string& group : groups) lossy = std::max(lossy, passes::lossy_limit_of(group));
    return judge_.check(plan, lossy);
  }

  static double trials_progress(double done) { return kBaselineIsMeasured + 0.45 * done; }

  Status try_groups() {
    TrialResults trials;
    const Status tried =
        run_trials(baseline_graph_, *baseline_plan_, passes::groups(options_.lossy), trial_steps(), trials);
    experiment_.report.passes = std::move(trials.rows);
    experiment_.report.combinations = std::move(trials.combinations);
    experiment_.optimised = std::move(trials.graph);
    optimised_plan_ = std::move(trials.plan);
    kept_groups_ = std::move(trials.groups);
    for (analyze::PassRow& row : experiment_.report.passes) {
      const auto measured = precision_.find(row.name);
      if (measured == precision_.end() || measured->second.rows.empty()) continue;
      row.precision = measured->second.rows;
      row.reason += "; precision: " + measured->second.how;
    }
    return tried;
  }

  // Steps of both plans, paired; between the blocks a step of each is recorded, so that the profiles that the
  // report shows are of the machine as it was in the runs that the speed-up is of.
  Result<PairedResult> compare_and_record(StepRecorder& before, StepRecorder& after) {
    const double seconds = options_.budget_s * (kFinalShare + 2 * kProfileShare);
    const int64_t end = now_ns() + static_cast<int64_t>(seconds * 1e9);
    const auto record = [&](int turn) -> Status {
      for (StepRecorder* side : {turn % 2 == 0 ? &before : &after, turn % 2 == 0 ? &after : &before})
        HONE_CHECK(side->record_after_others(end));
      return {};
    };
    PairedOptions paired;
    paired.budget_ns = static_cast<int64_t>(seconds * 1e9);
    paired.min_blocks = kLeastBlocks;
    paired.after_block = record;
    HONE_ASSIGN(PairedResult speed, compare(*baseline_plan_, *optimised_plan_, paired, 0.76, 0.97,
                                            "measuring the result against the baseline"));
    // The ratio may be known after a dozen blocks; where a step's time goes takes some more steps.
    phases_.enter("profiles");
    for (int turn = 0; !before.enough() || !after.enough() ||
                       (now_ns() < end && std::min(before.steps(), after.steps()) < kProfiledSteps);
         ++turn) {
      HONE_CHECK(say(0.98, "profiling the baseline and the result"));
      HONE_CHECK(record(turn));
    }
    return speed;
  }

  Status measure_result() {
    analyze::LabReport& report = experiment_.report;
    if (optimised_plan_ == nullptr) {  // nothing was kept: the result is the baseline
      report.optimised = report.baseline;
      experiment_.optimised_trace = experiment_.baseline_trace;
      report.result.speedup = {1, 1, 1};
      return {};
    }
    StepRecorder before_steps(*baseline_plan_, profile_options("baseline"));
    StepRecorder after_steps(*optimised_plan_, profile_options("optimised"));
    HONE_ASSIGN(const PairedResult speed, compare_and_record(before_steps, after_steps));
    HONE_ASSIGN(Profile before, before_steps.profile(roofs_));
    HONE_ASSIGN(Profile after, after_steps.profile(roofs_));
    HONE_CHECK(correct_roofs({&before, &after}));
    learn(*optimised_plan_, after.trace);
    const double priced_ms = report.baseline.step.ms.median;
    report.baseline = std::move(before.analysis);
    experiment_.baseline_trace = std::move(before.trace);
    report.optimised = std::move(after.analysis);
    experiment_.optimised_trace = std::move(after.trace);
    if (speed.contention.disturbed())
      report.warnings.push_back(
          fmt::format("the paired runs of the result: {}; on a quiet machine the two "
                      "plans may compare otherwise",
                      contention_text(speed.contention)));
    report.result.speedup = estimate(speed.ratio);
    report.result.measured_gain_ms = gain_of(speed, median(speed.a_ms));
    report.result.paired_before_ms = analyze::median_estimate(speed.a_ms);
    report.result.paired_after_ms = analyze::median_estimate(speed.b_ms);
    scale_gains(priced_ms, median(speed.a_ms));
    for (const analyze::PassRow& pass : report.passes)
      report.result.predicted_gain_ms += pass.kept ? pass.predicted_gain_ms : 0;
    report.result.pairs = static_cast<int>(speed.block_ratios.size());
    report.result.confidence = speed.level;
    return {};
  }

  // Predictions, and what trials measured, are shares of the step that was priced. In the runs that they are
  // compared with, the same plan took another time: the machine was faster or slower.
  void scale_gains(double priced_ms, double paired_ms) {
    analyze::LabReport& report = experiment_.report;
    const double factor = paired_ms / priced_ms;
    const auto scale = [factor](analyze::Estimate& gain) {
      gain = {gain.median * factor, gain.low * factor, gain.high * factor};
    };
    for (analyze::PassRow& row : report.passes) {
      row.predicted_gain_ms *= factor;
      if (row.measured_gain_ms) scale(*row.measured_gain_ms);
    }
    for (analyze::PassCombination& row : report.combinations) {
      row.predicted_gain_ms *= factor;
      scale(row.measured_gain_ms);
    }
    how_predicted_ += fmt::format(
        "; all × {:.2f}: the baseline's step took {} when it was priced, {} in the paired runs of the result",
        factor, format_ms(priced_ms), format_ms(paired_ms));
  }

  Plan& result_plan() { return optimised_plan_ != nullptr ? *optimised_plan_ : *baseline_plan_; }

  Status check_result() {
    phases_.enter("checking numbers");
    analyze::LabReport& report = experiment_.report;
    HONE_CHECK(result_plan().run());
    HONE_ASSIGN(const NumericReport numbers, check(result_plan(), kept_groups_));
    report.result.max_rel_err = numbers.max_rel_err;
    report.result.passed = numbers.passed;
    for (const OutputReport& output : numbers.outputs) {
      report.numerics.push_back({output.name, output.max_rel_err, output.limits.max_rel, output.passed});
      if (!output.passed)
        report.warnings.push_back(fmt::format("output '{}': {}", output.name, output.detail));
    }
    return {};
  }

  void describe() {
    analyze::LabReport& report = experiment_.report;
    report.model = describe_model(baseline_graph_, options_.model_path);
    report.roofs = roofs_;
    report.environment = describe_environment(machine_, provider_);
    report.baseline_memory = describe_memory(*baseline_plan_, *provider_.device());
    if (report.interrupted.empty())
      report.optimised_memory = describe_memory(result_plan(), *provider_.device());
    report.reproduce.command = options_.command;
    report.reproduce.notes = inputs_.notes;
    report.reproduce.notes.push_back(how_predicted_);
    for (const std::string& note : report.baseline.step.notes) report.reproduce.notes.push_back(note);
    const runtime::PluginNotes plugins = runtime::plugin_notes(baseline_graph_);
    for (const std::string& note : plugins.origins) report.reproduce.notes.push_back(note);
    for (const std::string& note : plugins.without_references) report.warnings.push_back(note);
    if (!contradictions_.empty())
      report.reproduce.notes.push_back(fmt::format(
          "timings that a profile contradicted, to be taken again: {}", first_of(contradictions_)));
    for (const std::string& note : roof_notes_) report.warnings.push_back("roof corrected: " + note);
    const WhereItRuns where = where_it_runs(*baseline_plan_);
    report.baseline_operators = static_cast<int>(where.operators);
    report.baseline_on_reference = static_cast<int>(where.reference.size());
    for (const std::string& text : where_texts(where)) report.warnings.push_back("baseline: " + text);
    if (optimised_plan_ != nullptr && report.interrupted.empty())
      for (const std::string& text : where_texts(where_it_runs(*optimised_plan_)))
        report.warnings.push_back("result: " + text);
    if (!cache_.note().empty()) report.warnings.push_back(cache_.note());
  }

  // After all else has been measured: the plans are given away, as the processes that count need their memory.
  void count_kernels() {
    analyze::LabReport& report = experiment_.report;
    if (!options_.counters || !report.interrupted.empty()) return;
    if (options_.counters->why_not.empty()) phases_.enter("counting kernels");
    const bool is_result = optimised_plan_ == nullptr;
    std::vector<CountedSide> sides;
    if (!is_result)
      sides.push_back({"result", std::move(optimised_plan_), report.optimised, experiment_.optimised_trace});
    sides.push_back({"baseline", std::move(baseline_plan_), report.baseline, experiment_.baseline_trace});
    for (std::string& warning : count_sides(std::move(sides), counting_options()))
      report.warnings.push_back(std::move(warning));
    if (is_result) {
      report.optimised = report.baseline;
      experiment_.optimised_trace = experiment_.baseline_trace;
    }
  }

  CountSidesOptions counting_options() {
    return {.provider = provider_,
            .inputs = inputs_.tensors,
            .plans = *options_.counters,
            .budget_s = options_.budget_s,
            .seconds_spent = [this] { return phases_.seconds(); },
            .analyse =
                [this](const trace::Trace& trace, const std::string& source,
                       std::vector<analyze::PlanKernel> kernels) {
                  ProfileOptions profile = profile_options(source);
                  profile.kernels = std::move(kernels);
                  return analyse_profile(trace, roofs_, profile);
                },
            .keep_going =
                [this](const std::string& what) {
                  said_ = {kCountingProgress, what};
                  return keep_going();
                }};
  }

  const runtime::Provider& provider_;
  const Machine& machine_;
  Roofs roofs_;         // as given, until an operator shows that one is too low
  int roof_looks_ = 2;  // how often they may be measured again
  std::vector<std::string> roof_notes_;
  const ExperimentOptions& options_;
  Judge& judge_;
  PhaseClock phases_;
  runtime::TimingCache cache_;
  std::optional<runtime::Tuner> tuner_;
  std::pair<double, std::string> said_;  // last, to whoever watches
  std::optional<PriceList> prices_;
  std::vector<std::string> contradictions_;
  std::string how_predicted_;
  passes::PassContext context_;
  Graph baseline_graph_;
  Inputs inputs_;
  std::optional<BatchSample>
      sample_;  // rows that the reference and interpretations are of; none: the whole batch
  std::vector<Tensor> sampled_inputs_;                  // of it
  std::vector<std::string> kept_groups_;                // whose passes are in the result
  std::map<std::string, PrecisionDecision> precision_;  // of lossy groups, as they were first tried
  std::unique_ptr<Plan> baseline_plan_;
  std::unique_ptr<Plan> optimised_plan_;  // of what is kept; null: the baseline's
  Experiment experiment_;
};

}  // namespace

Result<Experiment> run_experiment(const Graph& graph, const runtime::Provider& provider,
                                  const Machine& machine, const Roofs& roofs,
                                  const ExperimentOptions& options) {
  ReferenceJudge judge(options.metric);
  return run_experiment(graph, provider, machine, roofs, options, judge);
}

Result<Experiment> run_experiment(const Graph& graph, const runtime::Provider& provider,
                                  const Machine& machine, const Roofs& roofs,
                                  const ExperimentOptions& options, Judge& judge) {
  return Runner(provider, machine, roofs, options, judge).run(graph);
}

}  // namespace hone::lab
