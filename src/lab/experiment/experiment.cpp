#include "lab/experiment/experiment.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/cpu/cores.h"
#include "lab/experiment/arena_gain.h"
#include "lab/experiment/describe.h"
#include "lab/experiment/phases.h"
#include "lab/experiment/price.h"
#include "lab/experiment/profile.h"
#include "lab/experiment/target.h"
#include "lab/gate/gate.h"
#include "lab/prepared.h"
#include "passes/pipeline.h"
#include "runtime/autotune.h"
#include "runtime/interpreter.h"

namespace hone::lab {
namespace {

using analyze::Estimate;
using graph::Graph;
using runtime::Plan;

// Shares of the budget. What is left over pays for compiling and for the reference.
constexpr double kProfileShare = 0.06;  // each of the profiles that the report shows
constexpr double kGroupsShare = 0.40;   // all groups of passes together
constexpr double kFinalShare = 0.20;    // baseline against the result
constexpr int kLeastBlocks = 6;         // of a comparison: fewer can claim nothing at 95 %

Estimate estimate(const Interval& interval) { return {interval.median, interval.low, interval.high}; }

// A row of the report for what a group did, before it is measured.
analyze::PassRow make_row(const std::string& group, const passes::PipelineResult& tried) {
  analyze::PassRow row;
  row.name = group;
  Numerics numerics = Numerics::kExact;
  std::string done;
  std::string missed;
  for (const passes::PassReport& report : tried.reports) {
    row.predicted_gain_ms += report.predicted_gain_ms;
    if (!report.done.empty()) {
      numerics = std::max(numerics, report.numerics);
      done += fmt::format("{}{}: {} ×", done.empty() ? "" : ", ", report.name, report.done.size());
    }
    for (const passes::Note& note : report.missed) {
      if (missed.empty()) missed = fmt::format("{}: {}", note.node, note.text);
    }
  }
  row.numerics = std::string(numerics_name(numerics));
  row.reason =
      done.empty() ? (missed.empty() ? "found nothing to change" : "changed nothing: " + missed) : done;
  return row;
}

bool changed(const passes::PipelineResult& tried) {
  return std::any_of(tried.reports.begin(), tried.reports.end(),
                     [](const passes::PassReport& report) { return !report.done.empty(); });
}

// What is gained of a step that took the median of `speed`'s A.
Estimate gain_of(const PairedResult& speed) {
  const double step = median(speed.a_ms);
  const auto gain = [step](double ratio) { return step - step / ratio; };
  return {gain(speed.ratio.median), gain(speed.ratio.low), gain(speed.ratio.high)};
}

class Runner {
 public:
  Runner(const runtime::CpuProvider& provider, const Machine& machine, const Roofs& roofs,
         const ExperimentOptions& options)
      : provider_(provider),
        machine_(machine),
        roofs_(roofs),
        options_(options),
        cache_(runtime::TimingCache::open(options.timing_cache)) {}

  Result<Experiment> run(const Graph& graph) {
    const kernels::PinnedTeam pinned;
    HONE_CHECK(prepare_baseline(graph));
    HONE_CHECK(compute_reference());
    HONE_CHECK(measure_baseline());
    HONE_CHECK(try_groups());
    HONE_CHECK(measure_result());
    HONE_CHECK(check_result());
    describe();
    (void)cache_.save();  // a convenience: the next run measures again if it could not be written
    return std::move(experiment_);
  }

 private:
  Status say(double fraction, const std::string& what) {
    if (options_.progress && !options_.progress(fraction, what))
      return Error{ErrorCode::kCancelled, "interrupted; nothing was written"};
    return {};
  }

  // The model as given, with what is known before it runs computed: shapes must be numbers for a plan.
  Status prepare_baseline(const Graph& graph) {
    phases_.enter("reading the model");
    HONE_CHECK(say(0.01, "reading the model's shapes"));
    context_ = passes::PassContext{runtime::interpret_node, nullptr, pass_target(provider_)};
    passes::PipelineOptions fold;
    fold.only = {"fold_constants"};
    HONE_ASSIGN(passes::PipelineResult folded, passes::run_pipeline(graph, context_, fold));
    baseline_graph_ = std::move(folded.graph);
    HONE_ASSIGN(inputs_, make_inputs(baseline_graph_, options_.seed, options_.inputs));
    return runtime::check_inputs(baseline_graph_, inputs_.tensors);
  }

  Status compute_reference() {
    phases_.enter("reference");
    HONE_CHECK(say(0.03, "computing the reference in double precision"));
    HONE_ASSIGN(reference_, runtime::interpret(baseline_graph_, inputs_.tensors));
    return {};
  }

  // Every plan of the experiment times its kernels as in a step of the baseline's size: they share readings.
  Result<std::unique_ptr<Plan>> compile(const Graph& graph, double fraction, const std::string& what) {
    phases_.enter("choosing kernels");
    const auto progress = [&](std::size_t done, std::size_t total, const std::string& node) {
      const double part = static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(1, total));
      return say(fraction + 0.02 * part, what + (node.empty() ? "" : ": " + node)).ok();
    };
    return compile_plan(graph, provider_, inputs_.tensors,
                        {&cache_, runtime::step_bytes(baseline_graph_), progress, options_.overlap});
  }

  Result<Profile> profile(Plan& plan, const std::string& source) {
    phases_.enter("profiles");
    ProfileOptions profile;
    profile.budget_ns = static_cast<int64_t>(options_.budget_s * kProfileShare * 1e9);
    profile.top = options_.top;
    profile.source = source;
    profile.machine = machine_title(machine_);
    profile.threads = provider_.threads();
    return profile_plan(plan, roofs_, profile);
  }

  Result<PairedResult> compare(Plan& before, Plan& after, double share, double from, double to,
                               const std::string& what) {
    phases_.enter("paired runs");
    PairedOptions paired;
    paired.budget_ns = static_cast<int64_t>(options_.budget_s * share * 1e9);
    paired.min_blocks = kLeastBlocks;
    paired.progress = [this, from, to, what](double done) {
      return !options_.progress || options_.progress(from + (to - from) * done, what);
    };
    return run_paired([&] { return before.run(); }, [&] { return after.run(); }, paired);
  }

  Status measure_baseline() {
    HONE_ASSIGN(baseline_plan_, compile(baseline_graph_, 0.15, "choosing kernels for the baseline"));
    HONE_CHECK(say(0.25, "profiling the baseline"));
    runtime::PlanOptions tune;
    tune.cache = &cache_;
    tune.step_bytes = runtime::step_bytes(baseline_graph_);
    tuner_.emplace(provider_, tune);
    prices_.emplace(*tuner_);
    HONE_ASSIGN(Profile seen, profile(*baseline_plan_, "baseline"));
    if (!learn(*baseline_plan_, seen.trace).empty()) {  // some kernels were chosen by disturbed readings
      HONE_ASSIGN(baseline_plan_,
                  compile(baseline_graph_, 0.27, "choosing again where a reading was disturbed"));
      HONE_ASSIGN(seen, profile(*baseline_plan_, "baseline"));
      learn(*baseline_plan_, seen.trace);
    }
    how_predicted_ =
        "predictions: operators of the baseline cost what its profile saw; new ones, what they take "
        "alone × what those of their class take in the step ÷ alone: " +
        prices_->ratios_text();
    experiment_.report.baseline = std::move(seen.analysis);
    experiment_.baseline_trace = std::move(seen.trace);
    context_.price = [this](const Graph& graph) {
      const std::string before = phases_.enter("choosing kernels");  // pricing times the kernels of new nodes
      const double seconds = prices_->step(graph);
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

  // Groups in order. A group that changes the graph without a gain of its own is carried: what follows builds
  // on it, and is measured together with it against what was kept last. Carried groups that nothing kept
  // needs are dropped.
  Status try_groups() {
    kept_graph_ = baseline_graph_;
    current_graph_ = baseline_graph_;
    const std::vector<std::string> groups = passes::groups();
    const double share = kGroupsShare / static_cast<double>(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const double from = 0.30 + 0.45 * static_cast<double>(g) / static_cast<double>(groups.size());
      HONE_CHECK(try_group(groups[g], share, from, from + 0.45 / static_cast<double>(groups.size())));
    }
    experiment_.optimised = std::move(kept_graph_);
    return {};
  }

  // `from` and `to`: what of the progress bar it is. `share`: of the budget.
  Status try_group(const std::string& group, double share, double from, double to) {
    phases_.enter("applying passes");
    HONE_CHECK(say(from, "applying passes: " + group));
    passes::PipelineOptions only;
    only.only = {group};
    only.disabled = options_.disabled_passes;
    HONE_ASSIGN(passes::PipelineResult tried, passes::run_pipeline(current_graph_, context_, only));
    analyze::PassRow row = make_row(group, tried);
    if (!changed(tried)) {
      experiment_.report.passes.push_back(std::move(row));
      return {};
    }
    HONE_ASSIGN(std::unique_ptr<Plan> plan, compile(tried.graph, from, "choosing kernels after " + group));
    Plan& before = optimised_plan_ != nullptr ? *optimised_plan_ : *baseline_plan_;
    HONE_ASSIGN(const PairedResult speed, compare(before, *plan, share, from, to, "measuring " + group));
    phases_.enter("checking numbers");
    const NumericReport numbers = compare_with(reference_, *plan, Numerics::kReassociating);
    if (passes::aim_of(group) == passes::Aim::kMemory)
      row.arena = arena_gain(current_graph_, before, tried.graph, *plan);
    const GateDecision decision = decide(speed, numbers, arena_change(row.arena));
    row.measured_gain_ms = gain_of(speed);
    row.max_rel_err = numbers.max_rel_err;
    row.kept = decision.kept;
    row.reason += "; " + decision.reason + arena_words(row.arena);
    experiment_.report.passes.push_back(std::move(row));
    if (decision.kept) {
      keep(group, std::move(tried.graph), std::move(plan));
    } else if (numbers.passed && speed.verdict == Verdict::kNoDifference) {
      carried_.push_back(experiment_.report.passes.size() - 1);
      current_graph_ = std::move(tried.graph);
    }
    return {};
  }

  // A group that was dropped alone and stays for the sake of a later one.
  static void keep_with(const std::string& later, analyze::PassRow& row) {
    constexpr std::string_view kDropped = "dropped: ";
    const std::size_t at = row.reason.find(kDropped);
    if (at != std::string::npos) row.reason.replace(at, kDropped.size(), "alone ");
    row.reason += fmt::format("; kept with {}, which builds on it", later);
    row.kept = true;
  }

  void keep(const std::string& group, Graph graph, std::unique_ptr<Plan> plan) {
    for (std::size_t earlier : carried_) keep_with(group, experiment_.report.passes[earlier]);
    carried_.clear();
    current_graph_ = std::move(graph);
    kept_graph_ = current_graph_;
    optimised_plan_ = std::move(plan);
  }

  Status measure_result() {
    analyze::LabReport& report = experiment_.report;
    if (optimised_plan_ == nullptr) {  // nothing was kept: the result is the baseline
      report.optimised = report.baseline;
      experiment_.optimised_trace = experiment_.baseline_trace;
      report.result.speedup = {1, 1, 1};
      return {};
    }
    // Both profiles of the report are taken now, one right after the other: the machine may have been busier
    // when the experiment began, and the two are compared row by row.
    HONE_CHECK(say(0.76, "profiling the baseline and the result"));
    HONE_ASSIGN(Profile before, profile(*baseline_plan_, "baseline"));
    HONE_ASSIGN(Profile after, profile(*optimised_plan_, "optimised"));
    learn(*optimised_plan_, after.trace);
    report.baseline = std::move(before.analysis);
    experiment_.baseline_trace = std::move(before.trace);
    report.optimised = std::move(after.analysis);
    experiment_.optimised_trace = std::move(after.trace);
    HONE_ASSIGN(const PairedResult speed, compare(*baseline_plan_, *optimised_plan_, kFinalShare, 0.84, 0.99,
                                                  "measuring the result against the baseline"));
    report.result.speedup = estimate(speed.ratio);
    report.result.pairs = static_cast<int>(speed.block_ratios.size());
    report.result.confidence = speed.level;
    return {};
  }

  Plan& result_plan() { return optimised_plan_ != nullptr ? *optimised_plan_ : *baseline_plan_; }

  Status check_result() {
    phases_.enter("checking numbers");
    analyze::LabReport& report = experiment_.report;
    HONE_CHECK(result_plan().run());
    const NumericReport numbers = compare_with(reference_, result_plan(), Numerics::kReassociating);
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
    report.environment = describe_environment(machine_, provider_.threads());
    report.baseline_memory = describe_memory(*baseline_plan_);
    report.optimised_memory = describe_memory(result_plan());
    report.reproduce.command = options_.command;
    report.reproduce.notes = inputs_.notes;
    report.reproduce.notes.push_back(how_predicted_);
    if (!contradictions_.empty())
      report.reproduce.notes.push_back(fmt::format(
          "timings that a profile contradicted, to be taken again: {}", fmt::join(contradictions_, ", ")));
    if (!cache_.note().empty()) report.warnings.push_back(cache_.note());
    report.phases = phases_.times();
  }

  const runtime::CpuProvider& provider_;
  const Machine& machine_;
  const Roofs& roofs_;
  const ExperimentOptions& options_;
  PhaseClock phases_;
  runtime::TimingCache cache_;
  std::optional<runtime::Tuner> tuner_;
  std::optional<PriceList> prices_;
  std::vector<std::string> contradictions_;
  std::string how_predicted_;
  passes::PassContext context_;
  Graph baseline_graph_, kept_graph_;
  Graph current_graph_;               // kept, with what is carried
  std::vector<std::size_t> carried_;  // rows waiting for a group that gains
  Inputs inputs_;
  std::vector<Tensor> reference_;
  std::unique_ptr<Plan> baseline_plan_;
  std::unique_ptr<Plan> optimised_plan_;  // of what is kept; null: the baseline's
  Experiment experiment_;
};

}  // namespace

Result<Experiment> run_experiment(const Graph& graph, const runtime::CpuProvider& provider,
                                  const Machine& machine, const Roofs& roofs,
                                  const ExperimentOptions& options) {
  return Runner(provider, machine, roofs, options).run(graph);
}

}  // namespace hone::lab
