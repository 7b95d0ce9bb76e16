#include "lab/training/input_trials.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "core/clock.h"
#include "lab/experiment/pass_row.h"
#include "lab/gate/gate.h"
#include "lab/training/batch_inputs.h"

namespace hone::lab {
namespace {

constexpr double kNoWait = 0.01;  // share of the time: what nobody notices
constexpr int kWarmSteps = 2;    // before those that count: the first batches are waited for by every setting
constexpr int kLeastSteps = 12;  // of a stretch: several times what is read ahead
constexpr double kStretch_s = 0.3;  // and at least so long
constexpr double kMostOfShare = 2;  // times the seconds given: what all of it may take

class InputStretches {
 public:
  InputStretches(const model::Recipe& recipe, const TrainingSetup& setup, runtime::Plan& plan)
      : recipe_(recipe), setup_(setup), plan_(plan), inputs_(plan.graph(), setup.program.options.fields) {}

  struct Times {
    double wait_s = 0, all_s = 0;  // of the steps that count
    data::Stage limiting = data::Stage::kRead;
  };

  // Steps with a loader of its own, from where the last stretch ended.
  Result<Times> run(int64_t workers, int steps) {
    model::Recipe recipe = recipe_;
    recipe.data.workers = workers;
    HONE_ASSIGN(const auto loader, training_batches(setup_.data, recipe));
    HONE_CHECK(loader->seek(place_));
    Times times;
    int64_t start = now_ns();
    for (int step = 0; step < kWarmSteps + steps; ++step) {
      if (step == kWarmSteps) {
        start = now_ns();
        times.wait_s = 0;
      }
      const int64_t asked = now_ns();
      HONE_ASSIGN(const data::Batch batch, loader->next());
      times.wait_s += static_cast<double>(now_ns() - asked) * 1e-9;
      HONE_CHECK(inputs_.write(plan_, batch));
      HONE_CHECK(plan_.run());
    }
    times.all_s = static_cast<double>(now_ns() - start) * 1e-9;
    times.limiting = loader->counts().limiting_stage();
    place_ = loader->place();
    return times;
  }

 private:
  const model::Recipe& recipe_;
  const TrainingSetup& setup_;
  runtime::Plan& plan_;
  BatchInputs inputs_;
  data::Place place_;
};

// Those of batches that both settings give: the same, or reading ahead is broken.
Result<NumericReport> same_batches(const model::Recipe& recipe, const TrainingSetup& setup, int64_t workers) {
  model::Recipe changed = recipe;
  changed.data.workers = workers;
  HONE_ASSIGN(const auto before, training_batches(setup.data, recipe));
  HONE_ASSIGN(const auto after, training_batches(setup.data, changed));
  std::vector<ComparedOutput> compared;
  for (int b = 0; b < 2; ++b) {
    HONE_ASSIGN(const data::Batch was, before->next());
    HONE_ASSIGN(const data::Batch is, after->next());
    for (std::size_t f = 0; f < is.tensors.size(); ++f)
      compared.push_back({setup.program.options.fields[f].name, is.tensors[f], was.tensors[f]});
  }
  return compare_outputs(compared, Numerics::kExact);
}

std::vector<int64_t> other_worker_counts(int64_t workers) {
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<int64_t> others;
  for (const int64_t other : {int64_t{1}, int64_t{2}, cores / 2, cores})
    if (other > 0 && other != workers && std::find(others.begin(), others.end(), other) == others.end())
      others.push_back(other);
  return others;
}

}  // namespace

Result<InputTrials> try_input_settings(const model::Recipe& recipe, const TrainingSetup& setup,
                                       runtime::Plan& plan, const InputTrialOptions& options) {
  InputTrials trials;
  trials.workers = recipe.data.workers;
  InputStretches stretches(recipe, setup, plan);
  HONE_ASSIGN(const auto probe, stretches.run(recipe.data.workers, kLeastSteps / 2));
  const double step_s = probe.all_s / (kLeastSteps / 2);
  const int steps = std::max(kLeastSteps, static_cast<int>(kStretch_s / std::max(step_s, 1e-6)));
  HONE_ASSIGN(const auto seen, stretches.run(recipe.data.workers, steps));
  trials.step_ms = seen.all_s / steps * 1e3;
  trials.wait_ms = seen.wait_s / steps * 1e3;
  const double share = seen.wait_s / seen.all_s;
  analyze::PassRow row;
  row.name = "input";
  row.numerics = numerics_name(Numerics::kExact);
  if (share < kNoWait) {
    row.reason = fmt::format("steps wait {:.1f} % of their time for data: nothing to gain", share * 100);
    trials.rows.push_back(row);
    return trials;
  }
  const std::vector<int64_t> others = other_worker_counts(recipe.data.workers);
  const double least_seconds = 4.0 * kLeastBlocks * seen.all_s * static_cast<double>(others.size());
  if (least_seconds > kMostOfShare * options.seconds) {
    row.reason = fmt::format(
        "steps wait {:.0f} % of their time for data, longest to {}; other numbers of workers were "
        "not measured: that would take {:.0f} s",
        share * 100, data::stage_name(seen.limiting), least_seconds);
    row.predicted_gain_ms = trials.wait_ms;
    trials.rows.push_back(row);
    return trials;
  }
  for (const int64_t workers : others) {
    PairedOptions paired;
    paired.budget_ns = static_cast<int64_t>(options.seconds / static_cast<double>(others.size()) * 1e9);
    paired.min_blocks = kLeastBlocks;
    paired.settle = false;
    paired.keep_going = options.keep_going;
    const auto with = [&](int64_t number) {
      return [&stretches, number, steps]() -> Status {
        HONE_CHECK(stretches.run(number, steps));
        return {};
      };
    };
    HONE_ASSIGN(const PairedResult speed, run_paired(with(trials.workers), with(workers), paired));
    HONE_ASSIGN(const NumericReport numbers, same_batches(recipe, setup, workers));
    const GateDecision decision = decide(speed, numbers);
    row.name = fmt::format("workers = {}", workers);
    row.changed = true;
    row.kept = decision.kept;
    row.predicted_gain_ms = workers > trials.workers ? trials.wait_ms : 0;
    row.measured_gain_ms = gain_of(speed, trials.step_ms);
    row.reason = fmt::format(
        "of {} steps with data read ahead by {} rather than {}, which wait {:.0f} % of their time, "
        "longest to {}; {}",
        steps, workers, trials.workers, share * 100, data::stage_name(seen.limiting), decision.reason);
    trials.rows.push_back(row);
    if (decision.kept) trials.workers = workers;
  }
  return trials;
}

}  // namespace hone::lab
