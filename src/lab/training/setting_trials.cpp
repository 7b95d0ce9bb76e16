#include "lab/training/setting_trials.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/units.h"
#include "lab/experiment/pass_row.h"
#include "lab/gate/gate.h"
#include "lab/model_summary.h"
#include "lab/training/fit_run.h"
#include "lab/training/setting_candidates.h"

namespace hone::lab {
namespace {

constexpr double kTimesItsShare = 2;  // what a trial may take, of its share of the time

constexpr int kTimedSteps = 9;  // of the recipe as it was, where nothing else timed it

// How far a step of such a precision may learn otherwise; 0: by rounding alone.
double lossy_limit_of(const model::RecipeTrain& train) {
  return train.precision == "f32" ? 0 : passes::lossy_limit_of(train.precision);
}

bool scales_loss(const model::RecipeTrain& train) { return train.precision == "fp16"; }

analyze::Estimate middle_of(const std::vector<double>& ms) {
  const Interval middle = median_interval(ms, 0.95);
  return {middle.median, middle.low, middle.high};
}

class Trier {
 public:
  Trier(const model::Recipe& recipe, const TrainingSetup& setup, const runtime::Provider& provider,
        runtime::TimingCache& cache, CurveJudge& judge, const SettingTrialOptions& options)
      : recipe_(recipe),
        setup_(setup),
        provider_(provider),
        cache_(cache),
        judge_(judge),
        options_(options) {}

  Result<SettingTrials> run(const std::vector<analyze::PassRow>& experiment) {
    trials_.train = recipe_.train;
    HONE_ASSIGN(trials_.plan, plan_of(trials_.train));
    if (scales_loss(trials_.train)) HONE_CHECK(judge_.settle_loss_scale(*trials_.plan));
    HONE_ASSIGN(numbers_, judge_.check(*trials_.plan, lossy_limit_of(trials_.train)));
    std::vector<SettingCandidate> candidates =
        pass_and_kernel_candidates(recipe_.train, experiment, numbers_.passed);
    add_programs(candidates);
    seconds_ = options_.seconds / static_cast<double>(candidates.size() + 1);
    for (const SettingCandidate& candidate : candidates) HONE_CHECK(try_one(candidate));
    if (!numbers_.passed)
      trials_.warnings.push_back(fmt::format(
          "the step as hone train runs it learns otherwise than the unchanged one: {}", numbers_.detail));
    HONE_CHECK(prove_together());
    HONE_CHECK(time_as_it_was());
    return std::move(trials_);
  }

 private:
  Result<std::unique_ptr<runtime::Plan>> plan_of(const model::RecipeTrain& train);
  Result<const TrainingProgram*> program_of(const model::RecipeTrain& train);
  void add_programs(std::vector<SettingCandidate>& candidates);
  void say_of(const char* name, const std::string& reason);
  std::optional<double> predicted_by_floors(const graph::Graph& before, const graph::Graph& after) const;
  Status try_one(const SettingCandidate& candidate);
  Result<PairedResult> compare(runtime::Plan& a, runtime::Plan& b);
  Status prove_together();
  Status time_as_it_was();

  const model::Recipe& recipe_;
  const TrainingSetup& setup_;
  const runtime::Provider& provider_;
  runtime::TimingCache& cache_;
  CurveJudge& judge_;
  const SettingTrialOptions& options_;
  double seconds_ = 0;  // of one trial
  SettingTrials trials_;
  NumericReport numbers_;  // of trials_.plan
  std::map<std::pair<int64_t, bool>, TrainingProgram>
      programs_;  // by micro-batches and whether the loss is scaled: others than the recipe's
  int kept_ = 0;
};

std::vector<std::string> states_but_of_the_scale(const graph::Graph& step) {
  std::vector<std::string> names;
  for (const graph::ValueId id : step.inputs())
    if (const std::string& name = step.value(id).name;
        name != graph::kLossScaleState && name != graph::kStepsAtScaleState)
      names.push_back(name);
  return names;
}

// Of the same batches, with the recipe's own states; beside them those of the loss's scale, which fp16 has.
Result<const TrainingProgram*> Trier::program_of(const model::RecipeTrain& train) {
  const std::pair key{train.accumulate, scales_loss(train)};
  if (key == std::pair{recipe_.train.accumulate, scales_loss(recipe_.train)}) return &setup_.program;
  if (const auto known = programs_.find(key); known != programs_.end()) return &known->second;
  model::Recipe recipe = recipe_;
  recipe.train = train;
  HONE_ASSIGN(TrainingProgram made,
              make_program(recipe, setup_.batches->fields(), setup_.steps, setup_.evaluated_together));
  if (states_but_of_the_scale(made.step) != states_but_of_the_scale(setup_.program.step))
    return unsupported(
        "its step has other states than the recipe's, whose course it could not be put beside");
  judge_.know(made.initial);
  return &programs_.emplace(key, std::move(made)).first->second;
}

// Of what is not tried, a row says why.
void Trier::say_of(const char* name, const std::string& reason) {
  analyze::PassRow row;
  row.name = name;
  row.numerics = numerics_name(Numerics::kExact);
  row.is_predicted = false;
  row.reason = reason;
  trials_.rows.push_back(std::move(row));
}

void Trier::add_programs(std::vector<SettingCandidate>& candidates) {
  const std::string why_not = why_not_accumulated(recipe_.train, setup_.program);
  if (why_not.empty())
    for (SettingCandidate& candidate : accumulation_candidates(recipe_.train))
      candidates.push_back(std::move(candidate));
  else
    say_of("accumulate", "not tried: " + why_not);
  if (options_.fit == nullptr) return;
  const MemoryFit& fit = *options_.fit;
  const std::string needed = format_bytes(static_cast<double>(fit.kept.bounded()));
  const std::string allowed =
      fmt::format("{} ({})", format_bytes(static_cast<double>(options_.limit.bytes)), options_.limit.why);
  if (fit.operators == 0)
    return say_of(
        "memory",
        fmt::format("does not bind: the run takes {} of {}, and nothing is computed again", needed, allowed));
  const std::string again =
      fmt::format("{} run again, {:+.1f} % FLOPs, since the run would take {} and may take {}",
                  counted(fit.operators, "operator"), fit.more_flops * 100, needed, allowed);
  if (recipe_.train.memory == 0)
    return say_of("memory", fmt::format("not measured: {}; a step that keeps all has no room", again));
  SettingCandidate all{"without recomputation", again, [](model::RecipeTrain& train) { train.memory = 0; }};
  all.is_told_only = true;
  candidates.push_back(std::move(all));
}

// What the operators of a step take at least, and what starting more of them costs: smaller tensors lie in nearer caches, and
// weights are read once for each micro-batch.
std::optional<double> Trier::predicted_by_floors(const graph::Graph& before,
                                                 const graph::Graph& after) const {
  if (options_.roofs == nullptr) return std::nullopt;
  const ModelSummary was = summarise_model(before, *options_.roofs),
                     is = summarise_model(after, *options_.roofs);
  const double more = static_cast<double>(is.nodes.size()) - static_cast<double>(was.nodes.size());
  return was.floor_ms - is.floor_ms - more * options_.roofs->barrier.median * 1e3;
}

Result<std::unique_ptr<runtime::Plan>> Trier::plan_of(const model::RecipeTrain& train) {
  model::Recipe recipe = recipe_;
  recipe.train = train;
  runtime::PlanOptions plan;
  plan.cache = &cache_;
  plan.autotune = !train.deterministic;
  plan.keep_going = options_.keep_going;
  if (options_.keep_going)
    plan.progress = [this](std::size_t, std::size_t, const std::string&) { return options_.keep_going(); };
  SessionOptions session = session_options_of(train, &cache_);
  session.progress = plan.progress;
  HONE_ASSIGN(const TrainingProgram* program, program_of(train));
  HONE_ASSIGN(graph::Graph step, step_that_trains(recipe, setup_, *program, provider_, session));
  HONE_ASSIGN(std::unique_ptr<runtime::Plan> made, runtime::Plan::compile(std::move(step), provider_, plan));
  HONE_CHECK(judge_.start_anew(*made));
  return made;
}

Result<PairedResult> Trier::compare(runtime::Plan& a, runtime::Plan& b) {
  PairedOptions paired;
  paired.budget_ns = static_cast<int64_t>(seconds_ * 1e9);
  paired.min_blocks = kLeastBlocks;
  paired.keep_going = options_.keep_going;
  paired.after_block = [&](int) -> Status {
    HONE_CHECK(judge_.start_anew(a));
    return judge_.start_anew(b);
  };
  return run_paired([&] { return a.run(); }, [&] { return b.run(); }, paired);
}

Status Trier::try_one(const SettingCandidate& candidate) {
  analyze::PassRow row;
  row.name = candidate.name;
  model::RecipeTrain train = trials_.train;
  candidate.change(train);
  const bool is_lossy = train.precision != trials_.train.precision && lossy_limit_of(train) > 0;
  row.numerics = numerics_name(is_lossy ? Numerics::kLossy : Numerics::kReassociating);
  row.predicted_gain_ms = candidate.predicted_ms.value_or(0);
  row.is_predicted = candidate.predicted_ms.has_value();
  const int64_t begin_ns = now_ns();
  HONE_CHECK(trials_.plan->run());
  const double least_s = 4.0 * kLeastBlocks * static_cast<double>(now_ns() - begin_ns) * 1e-9;
  HONE_CHECK(judge_.start_anew(*trials_.plan));
  if (least_s > kTimesItsShare * seconds_ && !candidate.is_asked_for) {
    row.undecided = true;
    row.reason = fmt::format("not measured: that would take {:.0f} s, and {:.0f} s are left for it", least_s,
                             seconds_);
    trials_.rows.push_back(std::move(row));
    return {};
  }
  Result<std::unique_ptr<runtime::Plan>> made = plan_of(train);
  if (!made.ok()) {
    if (made.error().code == ErrorCode::kCancelled) return made.error();
    row.undecided = true;
    row.reason = "not measured: " + made.error().message;
    trials_.rows.push_back(std::move(row));
    return {};
  }
  std::unique_ptr<runtime::Plan> plan = *std::move(made);
  std::string what = candidate.what;
  if (scales_loss(train) && !scales_loss(trials_.train)) {
    const Result<double> scale = judge_.settle_loss_scale(*plan);
    if (!scale.ok()) {
      row.undecided = true;
      row.reason = fmt::format("{}: {}", what, scale.error().message);
      trials_.rows.push_back(std::move(row));
      return {};
    }
    what += fmt::format(", the loss scaled by {:g}", *scale);
  }
  std::optional<ArenaChange> arena;
  std::string memory;
  if (candidate.is_another_program || candidate.is_told_only) {
    const ArenaChange change{trials_.plan->memory().arena_bytes, plan->memory().arena_bytes};
    memory = fmt::format(", in an arena of {} instead of {}",
                         format_bytes(static_cast<double>(change.after_bytes)),
                         format_bytes(static_cast<double>(change.before_bytes)));
    if (candidate.is_another_program && recipe_.train.memory != 0) arena = change;
    if (const auto predicted = predicted_by_floors(trials_.plan->graph(), plan->graph())) {
      row.predicted_gain_ms = *predicted;
      row.is_predicted = true;
    }
  }
  HONE_ASSIGN(const PairedResult speed, compare(*trials_.plan, *plan));
  HONE_ASSIGN(const NumericReport numbers, judge_.check(*plan, lossy_limit_of(train)));
  const GateDecision decision = decide(speed, numbers, arena);
  const bool cures = candidate.is_cure && !numbers_.passed && numbers.passed;
  row.changed = true;
  row.kept = !candidate.is_told_only && (decision.kept || cures);
  row.max_rel_err = numbers.max_rel_err;
  row.measured_gain_ms = gain_of(speed, median(speed.a_ms));
  row.reason =
      fmt::format("{}{}, in the step as hone train runs it; {}", what, memory,
                  cures                    ? fmt::format("kept: without it {}", numbers_.detail)
                  : candidate.is_told_only ? fmt::format("{}: that is what [train] memory costs, which the "
                                                         "recipe keeps",
                                                         ratio_text(speed.ratio))
                                           : decision.reason);
  if (row.kept) {
    if (trials_.first == nullptr) {
      trials_.first = std::move(trials_.plan);
      trials_.step_ms = middle_of(speed.a_ms);
    }
    trials_.plan = std::move(plan);
    trials_.train = std::move(train);
    trials_.speedup = speed.ratio;
    numbers_ = numbers;
    ++kept_;
  }
  trials_.rows.push_back(std::move(row));
  return {};
}

// Each was kept beside those before it; that all of them are worth it is measured against the recipe as it was.
Status Trier::prove_together() {
  if (kept_ < 2) return {};
  HONE_ASSIGN(const PairedResult speed, compare(*trials_.first, *trials_.plan));
  const GateDecision decision = decide(speed, numbers_);
  analyze::PassRow row;
  row.name = "= the recipe as written";
  row.numerics = numerics_name(Numerics::kReassociating);
  row.is_predicted = false;
  row.changed = true;
  row.kept = decision.kept;
  row.max_rel_err = numbers_.max_rel_err;
  row.measured_gain_ms = gain_of(speed, median(speed.a_ms));
  row.reason = "against the recipe as it was, both as hone train runs them; " + decision.reason;
  trials_.rows.push_back(std::move(row));
  trials_.speedup = speed.ratio;
  trials_.step_ms = middle_of(speed.a_ms);
  if (decision.kept) return {};
  trials_.speedup.reset();
  trials_.train = recipe_.train;
  trials_.plan = std::move(trials_.first);
  return {};
}

Status Trier::time_as_it_was() {
  if (trials_.step_ms.median > 0) return {};
  std::vector<double> ms;
  for (int i = 0; i <= kTimedSteps; ++i) {
    const int64_t start = now_ns();
    HONE_CHECK(trials_.plan->run());
    if (i > 0) ms.push_back(static_cast<double>(now_ns() - start) * 1e-6);
  }
  trials_.step_ms = middle_of(ms);
  return judge_.start_anew(*trials_.plan);
}

}  // namespace

Result<SettingTrials> try_settings(const model::Recipe& recipe, const TrainingSetup& setup,
                                   const runtime::Provider& provider, runtime::TimingCache& cache,
                                   const std::vector<analyze::PassRow>& experiment, CurveJudge& judge,
                                   const SettingTrialOptions& options) {
  return Trier(recipe, setup, provider, cache, judge, options).run(experiment);
}

}  // namespace hone::lab
