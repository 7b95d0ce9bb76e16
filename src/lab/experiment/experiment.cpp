#include "lab/experiment/experiment.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <sys/resource.h>

#include "core/clock.h"
#include "core/units.h"
#include "graph/op_table.h"
#include "kernels/cpu/cores.h"
#include "lab/experiment/arena_gain.h"
#include "lab/experiment/price.h"
#include "lab/experiment/profile.h"
#include "lab/experiment/target.h"
#include "lab/gate/gate.h"
#include "lab/prepared.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"
#include "trace/run_folder.h"

namespace hone::lab {
namespace {

using analyze::Estimate;
using graph::Graph;
using runtime::Plan;

// Shares of the budget. What is left over pays for compiling and for the reference.
constexpr double kProfileShare = 0.08;  // each of two
constexpr double kGroupsShare = 0.40;   // all groups of passes together
constexpr double kFinalShare = 0.20;    // baseline against the result

Estimate estimate(const Interval& interval) { return {interval.median, interval.low, interval.high}; }

class Runner {
 public:
  Runner(const runtime::CpuProvider& provider, const Machine& machine, const Roofs& roofs,
         const ExperimentOptions& options)
      : provider_(provider),
        machine_(machine),
        roofs_(roofs),
        options_(options),
        cache_(runtime::TimingCache::open(options.timing_cache)),
        prices_(provider, cache_) {}

  Result<Experiment> run(const Graph& graph) {
    const kernels::PinnedTeam pinned;
    HONE_CHECK(prepare_baseline(graph));
    HONE_CHECK(compute_reference());
    HONE_CHECK(measure_baseline());
    HONE_CHECK(try_groups());
    HONE_CHECK(measure_result());
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
  PairedOptions paired_options(double seconds, double from, double to, const std::string& what) const {
    PairedOptions paired;
    paired.budget_ns = static_cast<int64_t>(seconds * 1e9);
    paired.progress = [this, from, to, what](double done) {
      return !options_.progress || options_.progress(from + (to - from) * done, what);
    };
    return paired;
  }

  // The model as given, with what is known before it runs computed: shapes must be numbers for a plan.
  Status prepare_baseline(const Graph& graph) {
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
    HONE_CHECK(say(0.03, "computing the reference in double precision"));
    HONE_ASSIGN(reference_, runtime::interpret(baseline_graph_, inputs_.tensors));
    return {};
  }

  Result<std::unique_ptr<Plan>> compile(const Graph& graph, double fraction, const std::string& what) {
    const auto progress = [&](std::size_t done, std::size_t total, const std::string& node) {
      const double part = static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(1, total));
      return say(fraction + 0.02 * part, what + (node.empty() ? "" : ": " + node)).ok();
    };
    return compile_plan(graph, provider_, inputs_.tensors, {&cache_, true, progress, options_.overlap});
  }

  ProfileOptions profile_options(const std::string& source) const {
    ProfileOptions profile;
    profile.budget_ns = static_cast<int64_t>(options_.budget_s * kProfileShare * 1e9);
    profile.top = options_.top;
    profile.source = source;
    profile.machine = machine_title(machine_);
    profile.threads = provider_.threads();
    return profile;
  }

  Status measure_baseline() {
    HONE_ASSIGN(baseline_plan_, compile(baseline_graph_, 0.15, "choosing kernels for the baseline"));
    HONE_CHECK(say(0.25, "profiling the baseline"));
    HONE_ASSIGN(Profile profile, profile_plan(*baseline_plan_, roofs_, profile_options("baseline")));
    experiment_.report.baseline = std::move(profile.analysis);
    experiment_.baseline_trace = std::move(profile.trace);
    context_.price = [this](const Graph& graph, const graph::Node& node) {
      return prices_.price(graph, node);
    };
    prices_.learn(*baseline_plan_, experiment_.baseline_trace);
    return {};
  }

  // Groups in order. A group that changes the graph without a gain of its own is carried: what follows builds
  // on it, and is measured together with it against what was kept last. Carried groups that nothing kept
  // needs are dropped.
  Status try_groups() {
    Graph kept = baseline_graph_;
    std::unique_ptr<Plan> kept_plan;  // null: the baseline's
    Graph current = kept;
    std::vector<std::size_t> carried;  // rows waiting for a group that gains
    const std::vector<std::string> groups = passes::groups();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const double from = 0.30 + 0.45 * static_cast<double>(g) / static_cast<double>(groups.size());
      const double to = 0.30 + 0.45 * static_cast<double>(g + 1) / static_cast<double>(groups.size());
      passes::PipelineOptions only;
      only.only = {groups[g]};
      only.disabled = options_.disabled_passes;
      HONE_CHECK(say(from, "applying passes: " + groups[g]));
      HONE_ASSIGN(passes::PipelineResult tried, passes::run_pipeline(current, context_, only));
      analyze::PassRow row = make_row(groups[g], tried);
      if (std::none_of(tried.reports.begin(), tried.reports.end(),
                       [](const auto& r) { return !r.done.empty(); })) {
        experiment_.report.passes.push_back(std::move(row));
        continue;
      }
      HONE_ASSIGN(std::unique_ptr<Plan> plan,
                  compile(tried.graph, from, "choosing kernels after " + groups[g]));
      Plan& before = kept_plan != nullptr ? *kept_plan : *baseline_plan_;
      const double seconds = options_.budget_s * kGroupsShare / static_cast<double>(groups.size());
      HONE_ASSIGN(const PairedResult speed,
                  run_paired([&] { return before.run(); }, [&] { return plan->run(); },
                             paired_options(seconds, from, to, "measuring " + groups[g])));
      const NumericReport numbers = compare_with(reference_, *plan, Numerics::kReassociating);
      if (passes::aim_of(groups[g]) == passes::Aim::kMemory)
        row.arena = arena_gain(current, before, tried.graph, *plan);
      const GateDecision decision = decide(speed, numbers, arena_change(row.arena));
      const double step = median(speed.a_ms);
      row.measured_gain_ms = Estimate{step - step / speed.ratio.median, step - step / speed.ratio.low,
                                      step - step / speed.ratio.high};
      row.max_rel_err = numbers.max_rel_err;
      row.kept = decision.kept;
      row.reason += "; " + decision.reason + arena_words(row.arena);
      const bool may_carry = !decision.kept && numbers.passed && speed.verdict == Verdict::kNoDifference;
      experiment_.report.passes.push_back(std::move(row));
      const std::size_t index = experiment_.report.passes.size() - 1;
      if (decision.kept) {
        for (std::size_t earlier : carried) keep_with(groups[g], experiment_.report.passes[earlier]);
        carried.clear();
        current = std::move(tried.graph);
        kept = current;
        kept_plan = std::move(plan);
      } else if (may_carry) {
        carried.push_back(index);
        current = std::move(tried.graph);
      }
    }
    experiment_.optimised = std::move(kept);
    optimised_plan_ = std::move(kept_plan);
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

  analyze::PassRow make_row(const std::string& group, const passes::PipelineResult& tried) const {
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

  Status measure_result() {
    analyze::LabReport& report = experiment_.report;
    if (optimised_plan_ == nullptr) {  // nothing was kept: the result is the baseline
      report.optimised = report.baseline;
      experiment_.optimised_trace = experiment_.baseline_trace;
      report.result.speedup = {1, 1, 1};
    } else {
      // Both profiles of the report are taken now, one right after the other: the machine may have been
      // busier when the experiment began, and the two are compared row by row.
      HONE_CHECK(say(0.76, "profiling the baseline and the result"));
      HONE_ASSIGN(Profile before, profile_plan(*baseline_plan_, roofs_, profile_options("baseline")));
      report.baseline = std::move(before.analysis);
      experiment_.baseline_trace = std::move(before.trace);
      HONE_ASSIGN(Profile profile, profile_plan(*optimised_plan_, roofs_, profile_options("optimised")));
      report.optimised = std::move(profile.analysis);
      experiment_.optimised_trace = std::move(profile.trace);
      HONE_ASSIGN(const PairedResult speed,
                  run_paired([&] { return baseline_plan_->run(); }, [&] { return optimised_plan_->run(); },
                             paired_options(options_.budget_s * kFinalShare, 0.84, 0.99,
                                            "measuring the result against the baseline")));
      report.result.speedup = estimate(speed.ratio);
      report.result.pairs = static_cast<int>(speed.block_ratios.size());
      report.result.confidence = speed.level;
    }
    Plan& plan = optimised_plan_ != nullptr ? *optimised_plan_ : *baseline_plan_;
    HONE_CHECK(plan.run());
    const NumericReport numbers = compare_with(reference_, plan, Numerics::kReassociating);
    report.result.max_rel_err = numbers.max_rel_err;
    report.result.passed = numbers.passed;
    for (const OutputReport& output : numbers.outputs) {
      report.numerics.push_back({output.name, output.max_rel_err, output.limits.max_rel, output.passed});
      if (!output.passed)
        report.warnings.push_back(fmt::format("output '{}': {}", output.name, output.detail));
    }
    return {};
  }

  static analyze::MemoryUse memory_of(const Plan& plan) {
    const runtime::PlanMemory memory = plan.memory();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {static_cast<double>(memory.arena_bytes), static_cast<double>(memory.weights_bytes),
            static_cast<double>(usage.ru_maxrss) * 1024};
  }

  void describe() {
    analyze::LabReport& report = experiment_.report;
    analyze::ModelInfo& model = report.model;
    model.name = baseline_graph_.name();
    model.path = options_.model_path;
    model.nodes = static_cast<int>(baseline_graph_.nodes().size());
    for (const graph::Value& value : baseline_graph_.values()) {
      if (value.is_constant() && is_float(value.type.dtype))
        model.parameters += static_cast<double>(value.constant->size());
    }
    for (const graph::Node& node : baseline_graph_.nodes())
      model.flops += graph::node_cost(baseline_graph_, node).flops;
    for (graph::ValueId id : baseline_graph_.inputs())
      model.inputs.emplace_back(baseline_graph_.value(id).name, baseline_graph_.type(id).text());
    for (graph::ValueId id : baseline_graph_.outputs())
      model.outputs.emplace_back(baseline_graph_.value(id).name, baseline_graph_.type(id).text());
    report.roofs = roofs_;
    report.environment.machine = machine_title(machine_);
    report.environment.device = "cpu";
    report.environment.threads = provider_.threads();
    report.environment.os = fmt::format("{}, {}", machine_.os, machine_.kernel);
    report.environment.hone_version = machine_.hone;
    report.environment.compiler = machine_.compiler;
    report.environment.libraries = machine_.libraries;
    report.environment.settings = {{"vector instructions", machine_.vector_features}};
    if (!machine_.governor.empty())
      report.environment.settings.emplace_back("frequency governor", machine_.governor);
    report.environment.when = trace::timestamp_now();
    report.baseline_memory = memory_of(*baseline_plan_);
    report.optimised_memory = memory_of(optimised_plan_ != nullptr ? *optimised_plan_ : *baseline_plan_);
    report.reproduce.command = options_.command;
    report.reproduce.notes = inputs_.notes;
    report.reproduce.notes.push_back(
        fmt::format("predictions: operators of the baseline as profiled; new ones timed alone and scaled by "
                    "{:.2f}, the median "
                    "of profiled to alone",
                    prices_.scale()));
    if (!cache_.note().empty()) report.warnings.push_back(cache_.note());
  }

  const runtime::CpuProvider& provider_;
  const Machine& machine_;
  const Roofs& roofs_;
  const ExperimentOptions& options_;
  runtime::TimingCache cache_;
  PriceList prices_;
  passes::PassContext context_;
  Graph baseline_graph_;
  Inputs inputs_;
  std::vector<Tensor> reference_;
  std::unique_ptr<Plan> baseline_plan_;
  std::unique_ptr<Plan> optimised_plan_;
  Experiment experiment_;
};

}  // namespace

Result<Experiment> run_experiment(const Graph& graph, const runtime::CpuProvider& provider,
                                  const Machine& machine, const Roofs& roofs,
                                  const ExperimentOptions& options) {
  return Runner(provider, machine, roofs, options).run(graph);
}

}  // namespace hone::lab
