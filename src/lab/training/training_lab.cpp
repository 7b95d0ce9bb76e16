#include "lab/training/training_lab.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/clock.h"
#include "lab/experiment/pass_row.h"
#include "lab/gate/gate.h"
#include "lab/prepared.h"
#include "lab/training/curve_judge.h"
#include "lab/training/input_trials.h"
#include "lab/training/setup.h"
#include "passes/pipeline.h"
#include "runtime/timing_cache.h"

namespace hone::lab {
namespace {

// Shares of the budget; the experiment on passes has the rest.
constexpr double kCurveShare = 0.04;    // of one curve
constexpr double kKernelsShare = 0.06;  // of chosen kernels against those that a deterministic run takes
constexpr double kInputShare = 0.15;
constexpr double kTimesItsShare = 2;  // what a trial may take, of its share
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
    HONE_CHECK(read_batches());
    HONE_CHECK(experiment());
    if (report().interrupted.empty()) {
      if (const Status more = try_settings(); !more.ok()) {
        if (more.error().code != ErrorCode::kCancelled) return more.error();
        report().warnings.push_back("interrupted before kernels and reading ahead were tried");
      }
    }
    describe();
    HONE_ASSIGN(lab_.recipe, model::parse_recipe(recipe_.resolved, recipe_.file, lab_.overrides));
    return std::move(lab_);
  }

 private:
  analyze::LabReport& report() { return lab_.experiment.report; }
  Status read_batches();
  Status experiment();
  void leave_out_what_harms();
  Status try_settings();
  Result<std::unique_ptr<runtime::Plan>> compile(bool autotune);
  Status try_chosen_kernels(runtime::Plan& chosen);
  Status try_input(runtime::Plan& plan);
  void describe();

  const model::Recipe& recipe_;
  const runtime::Provider& provider_;
  const Machine& machine_;
  const Roofs& roofs_;
  const ExperimentOptions& options_;
  TrainingSetup setup_;
  std::vector<data::Batch> batches_;
  std::vector<Tensor> inputs_;  // of the step, in the order of its graph
  std::optional<CurveJudge> judge_;
  runtime::TimingCache cache_;
  TrainingLab lab_;
};

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
  options.budget_s *= 1 - kKernelsShare - kInputShare;
  options.inputs = setup_.program.initial;
  const std::vector<graph::BatchField>& fields = setup_.program.options.fields;
  for (std::size_t f = 0; f < fields.size(); ++f)
    options.inputs[graph::kDataPrefix + fields[f].name] = batches_.front().tensors[f];
  for (const graph::ValueId id : setup_.program.step.inputs())
    inputs_.push_back(options.inputs.at(setup_.program.step.value(id).name));
  CurveJudgeOptions curve;
  curve.seconds = options_.budget_s * kCurveShare;
  judge_.emplace(batches_, fields, curve);
  HONE_ASSIGN(lab_.experiment,
              run_experiment(setup_.program.step, provider_, machine_, roofs_, options, *judge_));
  if (report().interrupted.empty()) leave_out_what_harms();
  return {};
}

// hone train applies every pass. What made no difference here may elsewhere; what was slower, or learned otherwise, is
// left out of this recipe.
void TrainingLabRunner::leave_out_what_harms() {
  std::string list;
  for (const analyze::PassRow& row : report().passes) {
    const bool slower = row.measured_gain_ms && row.measured_gain_ms->high < 0;
    const bool wrong = row.max_rel_err > judge_->most_allowed();
    if (row.changed && !row.kept && (slower || wrong) && passes::lossy_limit_of(row.name) == 0)
      list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", row.name);
  }
  if (!list.empty()) lab_.overrides.push_back(fmt::format("train.without_passes=[{}]", list));
}

Result<std::unique_ptr<runtime::Plan>> TrainingLabRunner::compile(bool autotune) {
  cache_ = runtime::TimingCache::open(options_.timing_cache);
  runtime::PlanOptions options;
  options.cache = &cache_;
  options.autotune = autotune;
  HONE_ASSIGN(std::unique_ptr<runtime::Plan> plan,
              runtime::Plan::compile(lab_.experiment.optimised, provider_, options));
  for (std::size_t i = 0; i < inputs_.size(); ++i) HONE_CHECK(plan->write(i, inputs_[i]));
  return plan;
}

Status TrainingLabRunner::try_settings() {
  HONE_ASSIGN(const std::unique_ptr<runtime::Plan> chosen, compile(true));
  const auto timed = [&](const char* phase, Status (TrainingLabRunner::*trial)(runtime::Plan&)) -> Status {
    const int64_t start = now_ns();
    const Status tried = (this->*trial)(*chosen);
    report().phases.push_back({phase, static_cast<double>(now_ns() - start) * 1e-9});
    return tried;
  };
  if (recipe_.train.deterministic)
    HONE_CHECK(timed("deterministic kernels", &TrainingLabRunner::try_chosen_kernels));
  return timed("input", &TrainingLabRunner::try_input);
}

// The experiment's plans take the kernels that measuring chose; a deterministic run takes the first of each list.
Status TrainingLabRunner::try_chosen_kernels(runtime::Plan& chosen) {
  analyze::PassRow row;
  row.name = "deterministic = false";
  row.numerics = numerics_name(Numerics::kReassociating);
  const double seconds = options_.budget_s * kKernelsShare;
  const double least_seconds = 4e-3 * kLeastBlocks * report().optimised.step.ms.median;
  if (least_seconds > kTimesItsShare * seconds) {
    row.reason = fmt::format("not measured: that would take {:.0f} s of a budget of {:g} s", least_seconds,
                             options_.budget_s);
    report().settings.push_back(std::move(row));
    return {};
  }
  HONE_ASSIGN(const std::unique_ptr<runtime::Plan> first, compile(false));
  PairedOptions paired;
  paired.budget_ns = static_cast<int64_t>(seconds * 1e9);
  paired.min_blocks = kLeastBlocks;
  paired.after_block = [&](int) -> Status {
    HONE_CHECK(judge_->start_anew(*first));
    return judge_->start_anew(chosen);
  };
  if (options_.progress)
    paired.keep_going = [this] {
      return options_.progress(0.98, "measuring what deterministic kernels cost");
    };
  HONE_ASSIGN(const PairedResult speed,
              run_paired([&] { return first->run(); }, [&] { return chosen.run(); }, paired));
  HONE_ASSIGN(const NumericReport numbers, judge_->check(chosen, 0));
  const GateDecision decision = decide(speed, numbers);
  row.changed = true;
  row.kept = decision.kept;
  row.max_rel_err = numbers.max_rel_err;
  row.measured_gain_ms = gain_of(speed, median(speed.a_ms));
  row.reason = "kernels chosen by measuring, as above; against the ones that a deterministic run takes; " +
               decision.reason;
  report().settings.push_back(std::move(row));
  if (decision.kept) lab_.overrides.emplace_back("train.deterministic=false");
  return {};
}

Status TrainingLabRunner::try_input(runtime::Plan& plan) {
  InputTrialOptions options;
  options.seconds = options_.budget_s * kInputShare;
  if (options_.progress)
    options.keep_going = [this] { return options_.progress(0.99, "measuring what steps wait for data"); };
  HONE_ASSIGN(const InputTrials trials, try_input_settings(recipe_, setup_, plan, options));
  report().settings.insert(report().settings.end(), trials.rows.begin(), trials.rows.end());
  if (trials.workers != recipe_.data.workers)
    lab_.overrides.push_back(fmt::format("data.workers={}", trials.workers));
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
  r.curves = judge_->curves();
}

}  // namespace

Result<TrainingLab> run_training_lab(const model::Recipe& recipe, const runtime::Provider& provider,
                                     const Machine& machine, const Roofs& roofs,
                                     const ExperimentOptions& options) {
  return TrainingLabRunner(recipe, provider, machine, roofs, options).run();
}

}  // namespace hone::lab
