#include "lab/training/training_lab.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/clock.h"
#include "core/units.h"
#include "lab/training/curve_judge.h"
#include "lab/training/fit_run.h"
#include "lab/training/input_trials.h"
#include "lab/training/setting_trials.h"
#include "lab/training/setup.h"
#include "runtime/timing_cache.h"

namespace hone::lab {
namespace {

// Shares of the budget; the experiment on passes has the rest.
constexpr double kCurveShare = 0.04;     // of one curve
constexpr double kSettingsShare = 0.12;  // of changes of the recipe, on the step as hone train runs it
constexpr double kInputShare = 0.15;
constexpr int kMostBatches = 50;
constexpr int64_t kMostBatchBytes = 256'000'000;  // of all batches that curves read

int64_t bytes_of(const data::Batch& batch) {
  int64_t bytes = 0;
  for (const Tensor& tensor : batch.tensors) bytes += static_cast<int64_t>(tensor.bytes());
  return std::max<int64_t>(bytes, 1);
}

class TrainingLabRunner {
 public:
  TrainingLabRunner(const model::Recipe& recipe, const runtime::Provider& provider, const Machine& machine,
                    const Roofs& roofs, const ExperimentOptions& options)
      : recipe_(recipe), provider_(provider), machine_(machine), roofs_(roofs), options_(options) {}

  Result<TrainingLab> run() {
    HONE_ASSIGN(setup_, open_training(recipe_));
    HONE_CHECK(fit());
    HONE_CHECK(read_batches());
    HONE_CHECK(experiment());
    if (report().interrupted.empty()) {
      if (const Status more = try_settings(); !more.ok()) {
        if (more.error().code != ErrorCode::kCancelled) return more.error();
        lab_.interrupted = true;
        report().warnings.push_back("interrupted while settings of the recipe were tried");
      }
    }
    describe();
    HONE_ASSIGN(lab_.recipe, model::parse_recipe(recipe_.resolved, recipe_.file, lab_.overrides));
    return std::move(lab_);
  }

 private:
  analyze::LabReport& report() { return lab_.experiment.report; }
  Status fit();
  Status read_batches();
  Status experiment();
  Status try_settings();
  Result<SettingTrials> try_train_settings();
  Status try_input(const SettingTrials& settings);
  void describe();

  const model::Recipe& recipe_;
  const runtime::Provider& provider_;
  const Machine& machine_;
  const Roofs& roofs_;
  const ExperimentOptions& options_;
  TrainingSetup setup_;
  std::vector<data::Batch> batches_;
  std::optional<CurveJudge> judge_;
  runtime::TimingCache cache_;
  MemoryLimit limit_;
  MemoryFit fit_;           // without its graphs
  std::string recomputes_;  // that it does so to fit into its memory; empty: it does not
  TrainingLab lab_;
};

std::string quoted(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
  return list;
}

// A run that hone train would refuse is nobody's to make faster.
Status TrainingLabRunner::fit() {
  limit_ = memory_limit(recipe_.train.memory, *provider_.device());
  HONE_ASSIGN(fit_, fit_run(recipe_, setup_, provider_, session_options_of(recipe_.train, nullptr), limit_));
  fit_.graphs = {};
  if (fit_.operators > 0 && recipe_.train.memory != 0)
    recomputes_ = fmt::format(
        "the steps before and after keep every activation; within [train] memory ({}) hone train computes {} "
        "again, {:+.1f} % FLOPs: the settings are tried on that step",
        format_bytes(static_cast<double>(recipe_.train.memory)), counted(fit_.operators, "operator"),
        fit_.more_flops * 100);
  return {};
}

Status TrainingLabRunner::read_batches() {
  int64_t bytes = 0;
  for (int i = 0; i < kMostBatches && (batches_.empty() || bytes < kMostBatchBytes); ++i) {
    HONE_ASSIGN(data::Batch batch, setup_.batches->next());
    bytes += bytes_of(batch);
    batches_.push_back(std::move(batch));
  }
  return {};
}

Status TrainingLabRunner::experiment() {
  ExperimentOptions options = options_;
  options.budget_s *= 1 - kSettingsShare - kInputShare;
  if (recipe_.train.precision != "f32") options.lossy.insert(recipe_.train.precision);
  options.narrow_residual = recipe_.train.residual == "narrow";
  options.inputs = setup_.program.initial;
  const std::vector<graph::BatchField>& fields = setup_.program.options.fields;
  for (std::size_t f = 0; f < fields.size(); ++f)
    options.inputs[graph::kDataPrefix + fields[f].name] = batches_.front().tensors[f];
  CurveJudgeOptions curve;
  curve.seconds = options_.budget_s * kCurveShare;
  judge_.emplace(batches_, fields, curve);
  HONE_ASSIGN(lab_.experiment,
              run_experiment(setup_.program.step, provider_, machine_, roofs_, options, *judge_));
  report().curves = judge_->curves();
  return {};
}

// Settings that passes do not decide, on the step as hone train runs it.
Result<SettingTrials> TrainingLabRunner::try_train_settings() {
  cache_ = runtime::TimingCache::open(options_.timing_cache);
  SettingTrialOptions options;
  options.seconds = options_.budget_s * kSettingsShare;
  options.roofs = &roofs_;
  options.fit = &fit_;
  options.limit = limit_;
  if (options_.progress)
    options.keep_going = [this] { return options_.progress(0.99, "measuring settings of the recipe"); };
  HONE_ASSIGN(SettingTrials trials,
              lab::try_settings(recipe_, setup_, provider_, cache_, report().passes, *judge_, options));
  report().settings.insert(report().settings.end(), trials.rows.begin(), trials.rows.end());
  report().warnings.insert(report().warnings.end(), trials.warnings.begin(), trials.warnings.end());
  const model::RecipeTrain &is = trials.train, &was = recipe_.train;
  if (is.without_passes != was.without_passes)
    lab_.overrides.push_back(fmt::format("train.without_passes=[{}]", quoted(is.without_passes)));
  if (is.deterministic != was.deterministic)
    lab_.overrides.push_back(fmt::format("train.deterministic={}", is.deterministic));
  if (is.precision != was.precision)
    lab_.overrides.push_back(fmt::format("train.precision=\"{}\"", is.precision));
  if (is.accumulate != was.accumulate)
    lab_.overrides.push_back(fmt::format("train.accumulate={}", is.accumulate));
  lab_.speedup = trials.speedup;
  return trials;
}

Status TrainingLabRunner::try_settings() {
  const int64_t start = now_ns();
  HONE_ASSIGN(const SettingTrials trials, try_train_settings());
  const int64_t tried = now_ns();
  report().phases.push_back({"settings", static_cast<double>(tried - start) * 1e-9});
  const Status input = try_input(trials);
  report().phases.push_back({"input", static_cast<double>(now_ns() - tried) * 1e-9});
  if (!input.ok()) return input;
  analyze::TrainingGain& gain = report().training.emplace();
  gain.step_ms = trials.step_ms;
  gain.changes = lab_.overrides;
  if (lab_.speedup)
    gain.speedup = analyze::Estimate{lab_.speedup->median, lab_.speedup->low, lab_.speedup->high};
  return {};
}

Status TrainingLabRunner::try_input(const SettingTrials& settings) {
  InputTrialOptions options;
  options.seconds = options_.budget_s * kInputShare;
  options.first = settings.first.get();
  options.cache_bytes = room_for_samples(fit_.memory, limit_);
  if (options_.progress)
    options.keep_going = [this] { return options_.progress(0.99, "measuring what steps wait for data"); };
  HONE_ASSIGN(const InputTrials trials, try_input_settings(recipe_, setup_, *settings.plan, options));
  report().settings.insert(report().settings.end(), trials.rows.begin(), trials.rows.end());
  if (trials.workers != recipe_.data.workers)
    lab_.overrides.push_back(fmt::format("data.workers={}", trials.workers));
  if (trials.cache_mb != recipe_.data.cache_mb)
    lab_.overrides.push_back(fmt::format("data.cache_mb={}", trials.cache_mb));
  if (trials.speedup) lab_.speedup = trials.speedup;
  return {};
}

void TrainingLabRunner::describe() {
  analyze::LabReport& r = report();
  r.model.name = recipe_.name;
  r.model.parameters = static_cast<double>(setup_.program.parameters);
  const auto is_no_data = [](const auto& input) { return !input.first.starts_with(graph::kDataPrefix); };
  std::erase_if(r.model.inputs, is_no_data);
  r.model.outputs.resize(std::min<std::size_t>(r.model.outputs.size(), graph::kStepNorm + 1));
  std::erase_if(r.reproduce.notes, [](const std::string& note) { return note.ends_with(": given"); });
  r.reproduce.notes.insert(
      r.reproduce.notes.begin(),
      fmt::format("one training step of batch {}: forward, loss, backward, {}; from the recipe's "
                  "first weights, on its first batch",
                  recipe_.train.batch,
                  graph::optimizer_names()[static_cast<std::size_t>(recipe_.optimizer.kind)]));
  r.reproduce.notes.push_back(judge_->how());
  if (!recomputes_.empty()) r.warnings.push_back(recomputes_);
}

}  // namespace

Result<TrainingLab> run_training_lab(const model::Recipe& recipe, const runtime::Provider& provider,
                                     const Machine& machine, const Roofs& roofs,
                                     const ExperimentOptions& options) {
  return TrainingLabRunner(recipe, provider, machine, roofs, options).run();
}

}  // namespace hone::lab
