#include "lab/training/setting_trials.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "lab/experiment/pass_row.h"
#include "lab/gate/gate.h"
#include "lab/training/fit_run.h"
#include "passes/pipeline.h"

namespace hone::lab {
namespace {

constexpr double kTimesItsShare = 2;  // what a trial may take, of its share of the time

// One change, and what the experiment makes expect of it.
struct SettingCandidate {
  std::string name;  // of its row
  std::string what;
  std::function<void(model::RecipeTrain&)> change;
  std::optional<double> predicted_ms;
  bool is_cure = false;  // of a step that learns otherwise, whatever it costs
};

// How far a step of such a precision may learn otherwise; 0: by rounding alone.
double lossy_limit_of(const model::RecipeTrain& train) {
  return train.precision == "f32" ? 0 : passes::lossy_limit_of(train.precision);
}

SettingCandidate narrow(const analyze::PassRow& row) {
  SettingCandidate candidate{fmt::format("precision = {}", row.name),
                             fmt::format("products in {}", row.name),
                             [name = row.name](model::RecipeTrain& train) { train.precision = name; },
                             {},
                             false};
  if (row.measured_gain_ms) candidate.predicted_ms = row.measured_gain_ms->median;
  return candidate;
}

SettingCandidate without(const analyze::PassRow& row, bool is_cure) {
  SettingCandidate candidate{
      fmt::format("without {}", row.name),
      fmt::format("{} left out", row.name),
      [name = row.name](model::RecipeTrain& train) { train.without_passes.push_back(name); },
      {},
      is_cure};
  if (!is_cure && row.measured_gain_ms) candidate.predicted_ms = -row.measured_gain_ms->median;
  return candidate;
}

SettingCandidate with(const analyze::PassRow& row) {
  SettingCandidate candidate{
      fmt::format("with {}", row.name),
      fmt::format("{} taken up again", row.name),
      [name = row.name](model::RecipeTrain& train) { std::erase(train.without_passes, name); },
      {},
      false};
  if (row.measured_gain_ms) candidate.predicted_ms = row.measured_gain_ms->median;
  return candidate;
}

class Trier {
 public:
  Trier(const model::Recipe& recipe, const TrainingSetup& setup, const runtime::Provider& provider,
        runtime::TimingCache& cache, std::span<const Tensor> inputs, CurveJudge& judge,
        const SettingTrialOptions& options)
      : recipe_(recipe),
        setup_(setup),
        provider_(provider),
        cache_(cache),
        inputs_(inputs),
        judge_(judge),
        options_(options) {}

  Result<SettingTrials> run(const std::vector<analyze::PassRow>& experiment) {
    trials_.train = recipe_.train;
    HONE_ASSIGN(trials_.plan, plan_of(trials_.train));
    HONE_ASSIGN(numbers_, judge_.check(*trials_.plan, lossy_limit_of(trials_.train)));
    const std::vector<SettingCandidate> candidates = candidates_of(experiment);
    seconds_ = options_.seconds / static_cast<double>(candidates.size() + 1);
    for (const SettingCandidate& candidate : candidates) HONE_CHECK(try_one(candidate));
    if (!numbers_.passed)
      trials_.warnings.push_back(fmt::format(
          "the step as hone train runs it learns otherwise than the unchanged one: {}", numbers_.detail));
    HONE_CHECK(prove_together());
    return std::move(trials_);
  }

 private:
  Result<std::unique_ptr<runtime::Plan>> plan_of(const model::RecipeTrain& train);
  std::vector<SettingCandidate> candidates_of(const std::vector<analyze::PassRow>& experiment) const;
  Status try_one(const SettingCandidate& candidate);
  Result<PairedResult> compare(runtime::Plan& a, runtime::Plan& b);
  Status prove_together();

  const model::Recipe& recipe_;
  const TrainingSetup& setup_;
  const runtime::Provider& provider_;
  runtime::TimingCache& cache_;
  std::span<const Tensor> inputs_;
  CurveJudge& judge_;
  const SettingTrialOptions& options_;
  double seconds_ = 0;  // of one trial
  SettingTrials trials_;
  NumericReport numbers_;                 // of trials_.plan
  std::unique_ptr<runtime::Plan> first_;  // of the recipe as it was, once something else is kept
  int kept_ = 0;
};

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
  HONE_ASSIGN(graph::Graph step, step_that_trains(recipe, setup_, provider_, session));
  HONE_ASSIGN(std::unique_ptr<runtime::Plan> made, runtime::Plan::compile(std::move(step), provider_, plan));
  for (std::size_t i = 0; i < inputs_.size(); ++i) HONE_CHECK(made->write(i, inputs_[i]));
  return made;
}

// What the experiment found slower, or what learned otherwise; what it kept although the recipe leaves it out; and kernels.
std::vector<SettingCandidate> Trier::candidates_of(const std::vector<analyze::PassRow>& experiment) const {
  std::vector<SettingCandidate> candidates;
  const std::vector<std::string>& left_out = recipe_.train.without_passes;
  for (const analyze::PassRow& row : experiment) {
    const bool is_left_out = std::find(left_out.begin(), left_out.end(), row.name) != left_out.end();
    const bool slower = row.measured_gain_ms && row.measured_gain_ms->high < 0;
    // A scaled loss is another step: fp16 is the user's to set.
    const bool is_lossy = passes::lossy_limit_of(row.name) != 0;
    if (is_lossy && row.kept && row.name == "bf16" && recipe_.train.precision == "f32")
      candidates.push_back(narrow(row));
    if (!row.changed || is_lossy) continue;
    if (row.kept && is_left_out) candidates.push_back(with(row));
    if (!row.kept && !is_left_out && !numbers_.passed) candidates.push_back(without(row, true));
    if (!row.kept && !is_left_out && numbers_.passed && slower) candidates.push_back(without(row, false));
  }
  if (recipe_.train.deterministic)
    candidates.push_back({"deterministic = false",
                          "kernels chosen by measuring",
                          [](model::RecipeTrain& train) { train.deterministic = false; },
                          {},
                          false});
  return candidates;
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
  row.numerics = numerics_name(Numerics::kReassociating);
  row.predicted_gain_ms = candidate.predicted_ms.value_or(0);
  row.is_predicted = candidate.predicted_ms.has_value();
  model::RecipeTrain train = trials_.train;
  candidate.change(train);
  const int64_t begin_ns = now_ns();
  HONE_CHECK(trials_.plan->run());
  const double least_s = 4.0 * kLeastBlocks * static_cast<double>(now_ns() - begin_ns) * 1e-9;
  HONE_CHECK(judge_.start_anew(*trials_.plan));
  if (least_s > kTimesItsShare * seconds_) {
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
  HONE_ASSIGN(const PairedResult speed, compare(*trials_.plan, *plan));
  HONE_ASSIGN(const NumericReport numbers, judge_.check(*plan, lossy_limit_of(train)));
  const GateDecision decision = decide(speed, numbers);
  const bool cures = candidate.is_cure && !numbers_.passed && numbers.passed;
  row.changed = true;
  row.kept = decision.kept || cures;
  row.max_rel_err = numbers.max_rel_err;
  row.measured_gain_ms = gain_of(speed, median(speed.a_ms));
  row.reason = fmt::format("{}, in the step as hone train runs it; {}", candidate.what,
                           cures ? fmt::format("kept: without it {}", numbers_.detail) : decision.reason);
  if (row.kept) {
    if (first_ == nullptr) first_ = std::move(trials_.plan);
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
  HONE_ASSIGN(const PairedResult speed, compare(*first_, *trials_.plan));
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
  if (decision.kept) return {};
  trials_.speedup.reset();
  trials_.train = recipe_.train;
  trials_.plan = std::move(first_);
  return {};
}

}  // namespace

Result<SettingTrials> try_settings(const model::Recipe& recipe, const TrainingSetup& setup,
                                   const runtime::Provider& provider, runtime::TimingCache& cache,
                                   const std::vector<analyze::PassRow>& experiment,
                                   std::span<const Tensor> inputs, CurveJudge& judge,
                                   const SettingTrialOptions& options) {
  return Trier(recipe, setup, provider, cache, inputs, judge, options).run(experiment);
}

}  // namespace hone::lab
