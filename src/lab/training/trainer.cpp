#include "lab/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/file.h"
#include "lab/experiment/profile.h"
#include "lab/machine.h"
#include "lab/training/checkpoint.h"
#include "lab/training/datasets.h"
#include "lab/training/non_finite.h"
#include "lab/training/program.h"
#include "lab/training/run_log.h"
#include "lab/training/session.h"
#include "model/onnx/writer.h"
#include "runtime/make_provider.h"
#include "runtime/timing_cache.h"
#include "trace/run_folder.h"

namespace hone::lab {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFirstRecorded = 3;  // steps before it warm caches up
constexpr int kRecordedSteps = 7;

double seconds_since(int64_t start_ns) { return static_cast<double>(now_ns() - start_ns) * 1e-9; }

bool all_finite(const model::NamedTensors& states) {
  for (const auto& [name, tensor] : states) {
    if (tensor.dtype() != DType::kF32) continue;
    for (const float value : tensor.as<float>())
      if (!std::isfinite(value)) return false;
  }
  return true;
}

class Trainer {
 public:
  Trainer(const model::Recipe& recipe, const TrainerOptions& options) : recipe_(recipe), options_(options) {}

  Result<TrainingResult> run() {
    HONE_CHECK(open());
    HONE_CHECK(compile());
    HONE_CHECK(begin());
    HONE_CHECK(loop());
    HONE_CHECK(finish());
    return std::move(result_);
  }

 private:
  Status open();
  Status compile();
  Status begin();
  Status resume();
  Status loop();
  Status step();
  Status run_plan(StepNumbers& numbers);
  Status log_step(const StepNumbers& numbers, double wait_s, double step_s);
  Status not_finite(const StepNumbers& numbers);
  Status evaluate();
  Status save();
  Status finish();
  Status write_model();
  Status write_trace();
  void note(const std::string& text) const {
    if (options_.on_note) options_.on_note(text);
  }
  bool is_time_for(int64_t every) const { return every > 0 && step_ % every == 0; }
  Checkpoint checkpoint_now(model::NamedTensors states) const;

  const model::Recipe& recipe_;
  const TrainerOptions& options_;
  TrainingData data_;
  std::unique_ptr<data::Loader> batches_;
  std::unique_ptr<data::Loader> validation_;
  int64_t steps_ = 0;
  TrainingProgram program_;
  std::unique_ptr<const runtime::Provider> provider_;
  std::unique_ptr<Session> session_;
  runtime::TimingCache cache_;
  std::optional<RunLog> log_;
  std::optional<CheckpointWriter> writer_;
  std::optional<StepRecorder> recorder_;

  int64_t step_ = 0;        // done
  int64_t saved_ = -1;      // the step of the last checkpoint
  int64_t evaluated_ = -1;  // and of the last evaluation
  int64_t start_ns_ = 0;
  double seconds_before_ = 0;                 // of the parts of a resumed run
  double mean_step_s_ = 0, mean_wait_s_ = 0;  // of late
  TrainingResult result_;
};

Status Trainer::open() {
  HONE_ASSIGN(data_, open_data(recipe_.data));
  HONE_ASSIGN(batches_, training_batches(data_, recipe_));
  steps_ = training_steps(recipe_.train, batches_->batches_per_epoch());
  int64_t together = recipe_.train.batch;
  if (data_.validation) {
    together = evaluation_batch(data_.validation->size(), recipe_.train.batch);
    HONE_ASSIGN(validation_, validation_batches(data_, recipe_, together));
  } else if (recipe_.train.target || recipe_.train.evaluate_every > 0) {
    return invalid("the recipe keeps no data back to evaluate on: give [data] validation");
  }
  HONE_ASSIGN(program_, make_program(recipe_, batches_->fields(), steps_, together));
  result_.parameters = program_.parameters;
  return {};
}

Status Trainer::compile() {
  HONE_ASSIGN(provider_, runtime::make_provider(options_.device, {.threads = options_.threads}));
  SessionOptions session;
  session.autotune = !recipe_.train.deterministic;
  session.progress = options_.on_compile;
  if (session.autotune) cache_ = runtime::TimingCache::open(runtime::TimingCache::default_path());
  session.cache = &cache_;
  HONE_ASSIGN(session_, Session::make(program_, *provider_, session));
  if (session.autotune) (void)cache_.save();  // a cache is a convenience
  std::map<std::string, int> by_reference;
  for (const runtime::PlanStep& each : session_->plan().steps())
    if (each.reference || each.on_host) ++by_reference[each.op];
  std::string list;
  for (const auto& [op, count] : by_reference)
    list += fmt::format("{}{} × {}", list.empty() ? "" : ", ", count, op);
  if (!list.empty())
    note(fmt::format(
        "{} has no kernel of its own for these operators of the step, which the slow reference runs: {}",
        options_.device, list));
  return {};
}

nlohmann::ordered_json environment_json(const TrainerOptions& options, const runtime::Provider& provider) {
  return {{"schema", 1},
          {"command", options.command},
          {"when", trace::timestamp_now()},
          {"device", options.device},
          {"threads", provider.threads()},
          {"machine", machine_json(describe_machine())}};
}

Status Trainer::begin() {
  if (options_.resume) HONE_CHECK(resume());
  HONE_CHECK(make_folder(options_.out));
  HONE_CHECK(write_file(options_.out / model::kRecipeFile, recipe_.resolved));
  HONE_CHECK(
      write_file(options_.out / "environment.json", environment_json(options_, *provider_).dump(2) + "\n"));
  if (!data_.classes.empty()) {
    note(classes_text(data_.classes));
    HONE_CHECK(write_classes(options_.out, data_.classes));
  }
  HONE_ASSIGN(log_, RunLog::open(options_.out, step_));
  writer_.emplace(options_.out, recipe_.checkpoint.keep);
  if (options_.roofs) {
    ProfileOptions profile;
    profile.device = options_.device;
    profile.source = recipe_.name;
    profile.machine = machine_title(describe_machine());
    profile.threads = provider_->threads();
    profile.min_steps = 1;
    profile.max_steps = kRecordedSteps;
    profile.top = static_cast<int>(session_->plan().steps().size());
    recorder_.emplace(session_->plan(), profile);
  }
  return {};
}

Status Trainer::resume() {
  std::vector<std::string> damaged;
  std::optional<Checkpoint> checkpoint = read_newest_checkpoint(options_.out, damaged);
  for (const std::string& what : damaged) note(what + "; the checkpoint before is used");
  if (!checkpoint) {
    if (!damaged.empty()) return corrupt(fmt::format("{}: no checkpoint is whole", options_.out.string()));
    note("no checkpoint was written yet: the run begins anew");
    return {};
  }
  HONE_CHECK(session_->restore(checkpoint->states));
  HONE_CHECK(batches_->seek(checkpoint->place));
  step_ = saved_ = checkpoint->step;
  seconds_before_ = checkpoint->seconds;
  note(fmt::format("goes on behind step {} of {}", step_, steps_));
  return {};
}

Status Trainer::loop() {
  start_ns_ = now_ns();
  while (step_ < steps_) {
    HONE_CHECK(step());
    const bool last = step_ == steps_;
    if (is_time_for(recipe_.train.evaluate_every) && !last) HONE_CHECK(evaluate());
    if (is_time_for(recipe_.checkpoint.every) && !last) HONE_CHECK(save());
    if (recipe_.train.target && result_.evaluation && result_.evaluation->step == step_ &&
        (graph::larger_is_better(recipe_.objective.metric)
             ? result_.evaluation->metric >= *recipe_.train.target
             : result_.evaluation->metric <= *recipe_.train.target)) {
      result_.end = TrainingEnd::kTarget;
      return {};
    }
    if (options_.should_stop && options_.should_stop()) {
      result_.end = last ? TrainingEnd::kDone : TrainingEnd::kStopped;
      return {};
    }
  }
  return {};
}

// The runs that are recorded are steps like any other.
Status Trainer::run_plan(StepNumbers& numbers) {
  if (recorder_ && step_ >= kFirstRecorded && recorder_->steps() < kRecordedSteps) {
    HONE_CHECK(recorder_->record(0));
    HONE_ASSIGN(numbers, session_->numbers());
    return {};
  }
  HONE_ASSIGN(numbers, session_->step());
  return {};
}

Status Trainer::step() {
  const int64_t begin_ns = now_ns();
  HONE_ASSIGN(const data::Batch batch, batches_->next());
  const double wait_s = seconds_since(begin_ns);
  HONE_CHECK(session_->write_batch(batch, *data_.training));
  StepNumbers numbers;
  HONE_CHECK(run_plan(numbers));
  ++step_;
  if (!std::isfinite(numbers.loss) || !std::isfinite(numbers.gradient_norm)) return not_finite(numbers);
  return log_step(numbers, wait_s, seconds_since(begin_ns));
}

Status Trainer::log_step(const StepNumbers& numbers, double wait_s, double step_s) {
  const double weight = mean_step_s_ == 0 ? 1 : 0.1;
  mean_step_s_ += weight * (step_s - mean_step_s_);
  mean_wait_s_ += weight * (wait_s - mean_wait_s_);
  TrainingReport& r = result_.last;
  r.step = step_;
  r.steps = steps_;
  r.epoch = static_cast<double>(step_) / static_cast<double>(batches_->batches_per_epoch());
  r.loss = numbers.loss;
  r.rate = numbers.rate;
  r.gradient_norm = numbers.gradient_norm;
  r.samples_per_s = static_cast<double>(recipe_.train.batch) / mean_step_s_;
  r.tokens_per_s = r.samples_per_s * static_cast<double>(data_.tokens_per_sample);
  r.input_wait = mean_wait_s_ / mean_step_s_;
  r.seconds_left = static_cast<double>(steps_ - step_) * mean_step_s_;
  if (options_.roofs) {
    const double roof = options_.roofs->compute_roof(DType::kF32, provider_->threads());
    r.mfu = roof > 0 ? program_.step_flops / mean_step_s_ / roof : 0;
  }
  if (options_.on_step) options_.on_step(r);
  return log_->add("train", step_,
                   {{"loss", r.loss},
                    {"rate", r.rate},
                    {"gradient_norm", r.gradient_norm},
                    {"epoch", r.epoch},
                    {"step_ms", step_s * 1e3},
                    {"input_wait_ms", wait_s * 1e3}});
}

Status Trainer::not_finite(const StepNumbers& numbers) {
  (void)writer_->wait();
  const std::string what = describe_non_finite(numbers.loss, numbers.gradient_norm);
  const std::string where = find_non_finite(program_, *provider_, !recipe_.train.deterministic, *batches_,
                                            *data_.training, options_.out, step_);
  std::string kept = "no checkpoint had been written";
  if (const auto list = list_checkpoints(options_.out); !list.empty())
    kept = fmt::format("the last good state is {}", list.front().string());
  return invalid(fmt::format("step {}: {}; {}; {}. A lower learning rate, a warm-up or [train] clip may help",
                             step_, what, where, kept));
}

Status Trainer::evaluate() {
  if (!validation_ || evaluated_ == step_) return {};
  HONE_ASSIGN(const EvaluationNumbers numbers, session_->evaluate(*validation_, *data_.validation));
  const auto name = graph::metric_names()[static_cast<std::size_t>(recipe_.objective.metric)];
  result_.evaluation =
      EvaluationReport{step_, numbers.loss, std::string(name), numbers.metric, numbers.samples};
  evaluated_ = step_;
  if (options_.on_evaluation) options_.on_evaluation(*result_.evaluation);
  std::vector<std::pair<std::string, double>> values = {{"loss", numbers.loss}};
  if (recipe_.objective.metric != graph::MetricKind::kNone) values.emplace_back(name, numbers.metric);
  return log_->add("evaluate", step_, values);
}

Checkpoint Trainer::checkpoint_now(model::NamedTensors states) const {
  Checkpoint checkpoint;
  checkpoint.step = step_;
  checkpoint.place = batches_->place();
  checkpoint.seconds = seconds_before_ + seconds_since(start_ns_);
  if (result_.evaluation) checkpoint.metric = result_.evaluation->metric;
  checkpoint.states = std::move(states);
  return checkpoint;
}

// A disk that is full for a while costs a checkpoint, not the run.
Status Trainer::save() {
  if (saved_ == step_) return {};
  HONE_ASSIGN(model::NamedTensors states, session_->states());
  if (!all_finite(states)) {  // the next step will say so; what was saved before is worth more
    note(fmt::format("step {}: weights are no longer finite; this state is not saved", step_));
    return {};
  }
  if (const Status before = writer_->write(checkpoint_now(std::move(states))); !before.ok())
    note(before.error().message + "; training goes on");
  saved_ = step_;
  return {};
}

Status Trainer::write_model() {
  HONE_ASSIGN(const auto values, session_->trained_values());
  HONE_ASSIGN(const graph::Graph trained, graph::with_constants(program_.model.base, values));
  result_.model = options_.out / "model.onnx";
  return model::write_onnx(trained, result_.model);
}

Status Trainer::write_trace() {
  trace::RunInfo info;
  info.what = "train";
  info.command = options_.command;
  info.when = trace::timestamp_now();
  const Machine machine = describe_machine();
  info.machine = machine_title(machine);
  info.device = options_.device;
  info.model = recipe_.file;
  info.threads = provider_->threads();
  info.versions = machine.libraries;
  info.versions.insert(info.versions.begin(), {"hone", machine.hone});
  info.roofs = options_.roofs;
  if (!recorder_ || recorder_->steps() == 0) return trace::write_run_info(options_.out, info);
  HONE_ASSIGN(const Profile profile, recorder_->profile(*options_.roofs));
  const auto& steps = session_->plan().steps();
  std::map<std::string, double> by_reference;
  for (const analyze::TopOperator& op : profile.analysis.top) {
    for (const runtime::PlanStep& each : steps)
      if (each.name == op.name && (each.reference || each.on_host)) by_reference[each.op] += op.ms;
  }
  result_.reference_ms.assign(by_reference.begin(), by_reference.end());
  std::sort(result_.reference_ms.begin(), result_.reference_ms.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  return trace::write_run_folder(options_.out, info, profile.trace);
}

Status Trainer::finish() {
  result_.limiting_stage = data::stage_name(batches_->counts().limiting_stage());
  result_.seconds = seconds_before_ + seconds_since(start_ns_);
  if (result_.end != TrainingEnd::kStopped) HONE_CHECK(evaluate());
  for (const data::Loader* loader : {batches_.get(), validation_.get()})
    for (const data::Damage& damage : loader ? loader->damages() : std::vector<data::Damage>())
      note(fmt::format("left out: {}", damage.message));
  HONE_CHECK(save());
  HONE_CHECK(writer_->wait());
  if (result_.end != TrainingEnd::kStopped) HONE_CHECK(write_model());
  return write_trace();
}

}  // namespace

int64_t training_steps(const model::RecipeTrain& train, int64_t batches_per_epoch) {
  if (train.steps > 0) return train.steps;
  return std::max<int64_t>(1, std::llround(train.epochs * static_cast<double>(batches_per_epoch)));
}

int64_t evaluation_batch(int64_t samples, int64_t batch) {
  const int64_t most = std::min(samples, batch);
  for (int64_t b = most; b > most / 4 && b > 0; --b)
    if (samples % b == 0) return b;
  return most;
}

Result<TrainingResult> train(const model::Recipe& recipe, const TrainerOptions& options) {
  return Trainer(recipe, options).run();
}

}  // namespace hone::lab
