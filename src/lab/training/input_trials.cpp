#include "lab/training/input_trials.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/units.h"
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

// What steps read, and which.
struct InputSetting {
  runtime::Plan* plan = nullptr;
  const TrainingData* data = nullptr;
  int64_t workers = 0;
};

class InputStretches {
 public:
  InputStretches(const model::Recipe& recipe, const TrainingSetup& setup) : recipe_(recipe), setup_(setup) {}

  struct Times {
    double wait_s = 0, all_s = 0;  // of the steps that count
    data::Stage limiting = data::Stage::kRead;
  };

  // Steps with a loader of its own, from where the last stretch ended.
  Result<Times> run(const InputSetting& setting, int steps) {
    model::Recipe recipe = recipe_;
    recipe.data.workers = setting.workers;
    HONE_ASSIGN(const auto loader, training_batches(*setting.data, recipe));
    HONE_CHECK(loader->seek(place_));
    BatchInputs inputs(setting.plan->graph(), setup_.program.options.fields);
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
      HONE_CHECK(inputs.write(*setting.plan, batch));
      HONE_CHECK(setting.plan->run());
    }
    times.all_s = static_cast<double>(now_ns() - start) * 1e-9;
    times.limiting = loader->counts().limiting_stage();
    if (!stays_) place_ = loader->place();
    return times;
  }

  // From now on every stretch reads the same batches.
  void stay() { stays_ = true; }

 private:
  const model::Recipe& recipe_;
  const TrainingSetup& setup_;
  data::Place place_;
  bool stays_ = false;
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

class InputTrier {
 public:
  InputTrier(const model::Recipe& recipe, const TrainingSetup& setup, runtime::Plan& plan,
             const InputTrialOptions& options)
      : recipe_(recipe),
        setup_(setup),
        options_(options),
        stretches_(recipe, setup),
        own_{&plan, &setup.data, recipe.data.workers} {}

  Result<InputTrials> run() {
    trials_.workers = recipe_.data.workers;
    trials_.cache_mb = recipe_.data.cache_mb;
    HONE_ASSIGN(const auto probe, stretches_.run(own_, kLeastSteps / 2));
    const double step_s = probe.all_s / (kLeastSteps / 2);
    steps_ = std::max(kLeastSteps, static_cast<int>(kStretch_s / std::max(step_s, 1e-6)));
    HONE_ASSIGN(seen_, stretches_.run(own_, steps_));
    trials_.step_ms = seen_.all_s / steps_ * 1e3;
    trials_.wait_ms = seen_.wait_s / steps_ * 1e3;
    share_ = seen_.wait_s / seen_.all_s;
    if (share_ < kNoWait) {
      HONE_CHECK(
          say_of("input", fmt::format("steps wait {:.1f} % of their time for data: nothing to gain, by other "
                                      "workers or a larger cache",
                                      share_ * 100)));
      return std::move(trials_);
    }
    HONE_CHECK(try_workers());
    HONE_CHECK(try_cache());
    HONE_CHECK(prove());
    return std::move(trials_);
  }

 private:
  // A row for what is not measured.
  Status say_of(const char* name, const std::string& reason, double predicted_ms = 0) {
    analyze::PassRow row;
    row.name = name;
    row.numerics = numerics_name(Numerics::kExact);
    row.reason = reason;
    row.predicted_gain_ms = predicted_ms;
    trials_.rows.push_back(std::move(row));
    return {};
  }
  std::string waits() const {
    return fmt::format("steps wait {:.0f} % of their time for data, longest to {}", share_ * 100,
                       data::stage_name(seen_.limiting));
  }
  bool has_time_for(std::size_t comparisons) const {
    return seconds_for(comparisons) <= kMostOfShare * options_.seconds;
  }
  double seconds_for(std::size_t comparisons) const {
    return 4.0 * kLeastBlocks * seen_.all_s * static_cast<double>(comparisons);
  }
  Result<PairedResult> compare(const InputSetting& a, const InputSetting& b, std::size_t comparisons) {
    PairedOptions paired;
    paired.budget_ns = static_cast<int64_t>(options_.seconds / static_cast<double>(comparisons) * 1e9);
    paired.min_blocks = kLeastBlocks;
    paired.settle = false;
    paired.keep_going = options_.keep_going;
    const auto with = [&](const InputSetting& setting) {
      return [this, setting]() -> Status {
        HONE_CHECK(stretches_.run(setting, steps_));
        return {};
      };
    };
    return run_paired(with(a), with(b), paired);
  }
  Status try_workers();
  Status try_cache();
  Status compare_caches(double bytes, double gained_share);
  Status prove();

  const model::Recipe& recipe_;
  const TrainingSetup& setup_;
  const InputTrialOptions& options_;
  InputStretches stretches_;
  InputSetting own_;  // with the workers that are best so far
  int steps_ = 0;     // of a stretch
  InputStretches::Times seen_;
  double share_ = 0;  // of the time, that steps wait
  InputTrials trials_;
};

Status InputTrier::try_workers() {
  const std::vector<int64_t> others = other_worker_counts(recipe_.data.workers);
  if (!has_time_for(others.size()))
    return say_of("input",
                  fmt::format("{}; other numbers of workers were not measured: that would take {:.0f} s",
                              waits(), seconds_for(others.size())),
                  trials_.wait_ms);
  for (const int64_t workers : others) {
    InputSetting other = own_;
    other.workers = workers;
    HONE_ASSIGN(const PairedResult speed, compare(own_, other, others.size()));
    HONE_ASSIGN(const NumericReport numbers, same_batches(recipe_, setup_, workers));
    const GateDecision decision = decide(speed, numbers);
    analyze::PassRow row;
    row.name = fmt::format("workers = {}", workers);
    row.numerics = numerics_name(Numerics::kExact);
    row.changed = true;
    row.kept = decision.kept;
    row.predicted_gain_ms = workers > own_.workers ? trials_.wait_ms : 0;
    row.measured_gain_ms = gain_of(speed, trials_.step_ms);
    row.reason = fmt::format("of {} steps with data read ahead by {} rather than {}: {}; {}", steps_, workers,
                             own_.workers, waits(), decision.reason);
    trials_.rows.push_back(row);
    if (decision.kept) own_.workers = trials_.workers = workers;
  }
  return {};
}

// Bytes of all decoded samples; those that vary in size are taken to be as the first.
Result<double> decoded_bytes(const data::Dataset& dataset) {
  HONE_ASSIGN(const data::Sample first, dataset.read(0));
  double bytes = 0;
  for (const Tensor& tensor : first) bytes += static_cast<double>(tensor.bytes());
  return bytes * static_cast<double>(dataset.size());
}

Status InputTrier::try_cache() {
  if (setup_.data.tokens_per_sample > 0)
    return say_of("cache", "not tried: tokens are in memory as they are");
  HONE_ASSIGN(const double training, decoded_bytes(*setup_.data.training));
  const double size = static_cast<double>(setup_.data.training->size());
  const double passes = static_cast<double>(setup_.steps * recipe_.train.batch) / size;
  const double kept = std::min(1.0, static_cast<double>(recipe_.data.cache_mb) * 1e6 / training);
  const std::string all =
      fmt::format("all {} decoded take {}", counted(size, "sample"), format_bytes(training));
  if (passes <= 1) return say_of("cache", "not tried: this run reads no sample twice");
  if (kept >= 1)
    return say_of("cache",
                  fmt::format("not tried: {}, and cache_mb = {} keeps them from the second of {:.3g} epochs "
                              "on; waits above are those of the first",
                              all, recipe_.data.cache_mb, passes));
  double whole = training;
  if (setup_.data.validation) {
    HONE_ASSIGN(const double judged, decoded_bytes(*setup_.data.validation));
    whole += judged;
  }
  const double gained = (1 - kept) * (1 - 1 / passes);
  if (whole > static_cast<double>(options_.cache_bytes))
    return say_of(
        "cache",
        fmt::format("not tried: {}, and {} are left for them; [data] cache = \"FOLDER\" keeps them on "
                    "disk",
                    all, format_bytes(static_cast<double>(options_.cache_bytes))),
        gained * trials_.wait_ms);
  if (!has_time_for(1))
    return say_of("cache", fmt::format("not measured: {}; that would take {:.0f} s", all, seconds_for(1)),
                  gained * trials_.wait_ms);
  return compare_caches(whole, gained);
}

// The same batches, once decoded each time and once from a cache that has them all, as it does from the second epoch on.
Status InputTrier::compare_caches(double bytes, double gained_share) {
  const int64_t cache_mb = static_cast<int64_t>(std::ceil(bytes / 1e6));
  model::RecipeData none = recipe_.data, all = recipe_.data;
  none.cache_mb = 0;
  none.cache.clear();
  all.cache_mb = cache_mb;
  HONE_ASSIGN(const TrainingData decoded, open_data(none));
  HONE_ASSIGN(const TrainingData kept, open_data(all));
  InputSetting without = own_, with = own_;
  without.data = &decoded;
  with.data = &kept;
  stretches_.stay();
  HONE_CHECK(stretches_.run(with, steps_));
  HONE_ASSIGN(const PairedResult speed, compare(without, with, 1));
  NumericReport numbers;
  numbers.passed = true;
  numbers.detail = "the same samples";
  const GateDecision decision = decide(speed, numbers);
  analyze::PassRow row;
  row.name = fmt::format("cache_mb = {}", cache_mb);
  row.numerics = numerics_name(Numerics::kExact);
  row.changed = true;
  row.kept = decision.kept;
  row.predicted_gain_ms = gained_share * trials_.wait_ms;
  const analyze::Estimate gain = gain_of(speed, trials_.step_ms);
  row.measured_gain_ms =
      analyze::Estimate{gained_share * gain.median, gained_share * gain.low, gained_share * gain.high};
  row.reason = fmt::format(
      "of {} steps whose samples are kept rather than decoded, which is so for {:.0f} % of the "
      "run's: {}; {}",
      steps_, gained_share * 100, waits(), decision.reason);
  trials_.rows.push_back(row);
  if (decision.kept) trials_.cache_mb = cache_mb;
  return {};
}

// Other workers were measured beside settings of the step that were kept already: what both win against the recipe as it was.
Status InputTrier::prove() {
  if (trials_.workers == recipe_.data.workers) return {};
  const InputSetting was{options_.first != nullptr ? options_.first : own_.plan, &setup_.data,
                         recipe_.data.workers};
  HONE_ASSIGN(const PairedResult speed, compare(was, own_, 1));
  trials_.speedup = speed.ratio;
  return {};
}

}  // namespace

Result<InputTrials> try_input_settings(const model::Recipe& recipe, const TrainingSetup& setup,
                                       runtime::Plan& plan, const InputTrialOptions& options) {
  return InputTrier(recipe, setup, plan, options).run();
}

}  // namespace hone::lab
