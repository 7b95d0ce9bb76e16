#include "lab/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/file.h"
#include "core/folder_lock.h"
#include "core/units.h"
#include "lab/machine.h"
#include "lab/training/checkpoint.h"
#include "lab/training/describe_run.h"
#include "lab/training/environment.h"
#include "lab/training/fit_run.h"
#include "lab/training/non_finite.h"
#include "lab/training/precision.h"
#include "lab/training/recorded_steps.h"
#include "lab/training/run_log.h"
#include "lab/training/run_summary.h"
#include "lab/training/session.h"
#include "lab/training/setup.h"
#include "lab/training/step_runner.h"
#include "model/onnx/writer.h"
#include "report/write.h"
#include "runtime/make_provider.h"
#include "runtime/timing_cache.h"
#include "trace/run_folder.h"

namespace hone::lab {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastLossScale = 1;  // below it, it is not the scale that is too large

double seconds_since(int64_t start_ns) { return static_cast<double>(now_ns() - start_ns) * 1e-9; }

bool all_finite(const model::NamedTensors& states) {
  for (const auto& [name, tensor] : states) {
    if (tensor.dtype() != DType::kF32) continue;
    for (const float value : tensor.as<float>())
      if (!std::isfinite(value)) return false;
  }
  return true;
}

// Where the types of a checkpoint's steps are not the recipe's: both in words, and what takes the checkpoint's.
struct OtherTypes {
  std::string was, is;  // " in bf16 with weights = bf16"
  std::string back;     // " --set train.precision=bf16"; empty: they are the same
};

OtherTypes other_types(const Checkpoint& checkpoint, const model::RecipeTrain& train) {
  OtherTypes other;
  const auto compare = [&](const char* key, const std::string& words, const std::string& was,
                           const std::string& is) {
    if (was.empty() || was == is) return;
    other.was += words + was;
    other.is += words + is;
    other.back += fmt::format(" --set train.{}={}", key, was);
  };
  // Nothing but weights is ever kept in bf16.
  const bool are_narrow = std::any_of(checkpoint.states.begin(), checkpoint.states.end(),
                                      [](const auto& state) { return state.second.dtype() == DType::kBF16; });
  compare("precision", " in ", checkpoint.precision, train.precision);
  compare("weights", " with weights = ", are_narrow ? "bf16" : "f32", train.weights);
  compare("residual", " with residual = ", checkpoint.residual, train.residual);
  return other;
}

// Models have hundreds of weights; whoever wonders looks at the first.
std::string untrained_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  const std::size_t shown = std::min(names.size(), kMost);
  const std::string more = names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  return fmt::format("no gradient reaches {}; the optimizer leaves alone {}{}",
                     counted(static_cast<double>(names.size()), "weight"),
                     fmt::join(std::span(names).first(shown), ", "), more);
}

class Trainer {
 public:
  Trainer(const model::Recipe& recipe, const TrainerOptions& options) : recipe_(recipe), options_(options) {}

  Result<TrainingResult> run() {
    provider_ = options_.provider;
    if (provider_ == nullptr) {
      HONE_ASSIGN(provider_, runtime::make_provider(options_.device, {.threads = options_.threads}));
    }
    memory_.emplace(provider_->device());
    result_.memory.limit = memory_limit(recipe_.train.memory, *provider_->device());
    HONE_CHECK(open());
    HONE_CHECK(fit());
    HONE_CHECK(compile());
    // Before anything is written: labels and images of the first batch that do not fit leave no run behind. One that goes on
    // looks where it goes on.
    if (!options_.resume) HONE_CHECK(runner_->look_at_first());
    HONE_CHECK(begin());
    if (const Status ended = loop(); !ended.ok()) {
      leave_what_is_known(ended.error());
      return ended.error();
    }
    HONE_CHECK(finish());
    return std::move(result_);
  }

 private:
  Status open();
  Status fit();
  SessionOptions session_options();
  Status compile();
  Status begin();
  Status resume();
  Status restore(const Checkpoint& checkpoint);
  Status loop();
  bool is_looked_at_behind(int64_t step) const;
  Status give_step(int64_t behind);
  Status give_steps();
  Status take_step();
  Status look_between_steps();
  bool has_reached_target() const;
  Status log_step(const DoneStep& done);
  Status log_skipped(const DoneStep& done);
  Status not_finite(const StepNumbers& numbers);
  Status evaluate();
  Status save();
  Status kept_in_spite_of(Error error);
  Status finish();
  Status write_model();
  Status write_trace();
  analyze::TrainingRun summary(analyze::RunEnd end) const;
  Status write_report(const analyze::TrainingRun& run);
  void leave_what_is_known(const Error& failure);
  void note(const std::string& text) const {
    if (options_.on_note) options_.on_note(text);
  }
  static bool is_time_for(int64_t every, int64_t step) { return every > 0 && step % every == 0; }
  Checkpoint checkpoint_now(model::NamedTensors states) const;

  const model::Recipe& recipe_;
  const TrainerOptions& options_;
  TrainingSetup setup_;
  SessionGraphs graphs_;  // of the program, as they fit
  std::optional<MemoryWatch> memory_;
  std::shared_ptr<const runtime::Provider> provider_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<const Descriptor> lock_;  // of the run folder
  runtime::TimingCache cache_;
  std::optional<RunLog> log_;
  std::optional<CheckpointWriter> writer_;
  std::optional<RecordedSteps> recorded_;  // none: the machine's roofs are not known
  std::optional<StepRunner> runner_;

  int64_t step_ = 0;        // done
  int64_t begun_at_ = 0;    // the step that this part of the run goes on behind
  int64_t saved_ = -1;      // the step of the last checkpoint
  int64_t evaluated_ = -1;  // and of the last evaluation
  int64_t start_ns_ = 0;
  double seconds_before_ = 0;                 // of the parts of a resumed run
  double mean_step_s_ = 0, mean_wait_s_ = 0;  // of late
  int64_t skipped_ = 0;                       // steps, since the loss's scale was too large
  TrainingResult result_;
};

Status Trainer::open() {
  HONE_ASSIGN(setup_, open_training(recipe_));
  if (!setup_.validation && (recipe_.train.target || recipe_.train.evaluate_every > 0))
    return invalid("the recipe keeps no data back to evaluate on: give [data] validation");
  result_.parameters = setup_.program.parameters;
  if (const auto names = untrained_weights(setup_.program); !names.empty()) note(untrained_text(names));
  // A GPU's plan leaves the host's cores time while it is made; the first epoch then finds its samples read.
  if (!provider_->device()->host_visible()) setup_.batches->prefetch(setup_.steps);
  return {};
}

SessionOptions Trainer::session_options() {
  SessionOptions session = session_options_of(recipe_.train, &cache_);
  session.progress = options_.on_compile;
  return session;
}

// Before the plans: what does not fit is said before anything is taken or written.
Status Trainer::fit() {
  if (!recipe_.train.deterministic) cache_ = runtime::TimingCache::open(runtime::TimingCache::default_path());
  TrainingMemoryReport& report = result_.memory;
  HONE_ASSIGN(MemoryFit fit, fit_run(recipe_, setup_, *provider_, session_options(), report.limit));
  report.predicted = fit.memory;
  report.kept_bytes = fit.kept.bounded();
  report.recomputed = fit.operators;
  report.more_flops = fit.more_flops;
  graphs_ = std::move(fit.graphs);
  if (!graphs_.types.empty()) note(types_text(recipe_.train.precision, graphs_.types));
  note("memory: predicted " + memory_text(report.predicted));
  if (fit.operators > 0)
    note(fmt::format("memory: recomputes {}, {:+.1f} % FLOPs: {} instead of {} ({}: {})",
                     counted(fit.operators, "operator"), fit.more_flops * 100,
                     format_bytes(static_cast<double>(report.predicted.bounded())),
                     format_bytes(static_cast<double>(report.kept_bytes)), report.limit.why,
                     format_bytes(static_cast<double>(report.limit.bytes))));
  return {};
}

Status Trainer::compile() {
  SessionOptions session = session_options();
  session.graphs = &graphs_;
  HONE_ASSIGN(session_, Session::make(setup_.program, *provider_, session));
  runner_.emplace(*session_, *setup_.batches, *setup_.data.training, RecordedSteps::kWriteRegion);
  memory_->prepared();
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

Status Trainer::begin() {
  HONE_CHECK(make_folder(options_.out));
  HONE_ASSIGN(lock_, lock_folder(options_.out));
  const RunEnvironment environment{.command = options_.command,
                                   .device = options_.device,
                                   .threads = provider_->threads(),
                                   .data = fingerprint_of(setup_.data),
                                   .model = fingerprint_of(setup_.program.model.base),
                                   .memory = result_.memory.predicted};
  if (options_.resume) {
    HONE_ASSIGN(const std::string other, compare_with_environment(options_.out, environment));
    if (!other.empty()) note(other);
    HONE_CHECK(resume());
  } else if (fs::exists(options_.out / model::kRecipeFile)) {  // since the caller looked
    return invalid(fmt::format("{}: holds another run; give another folder", options_.out.string()));
  }
  HONE_CHECK(write_file(options_.out / model::kRecipeFile, recipe_.resolved));
  HONE_CHECK(write_environment(options_.out, environment));
  if (!setup_.data.classes.empty()) {
    note(classes_text(setup_.data.classes));
    HONE_CHECK(write_classes(options_.out, setup_.data.classes));
  }
  HONE_ASSIGN(log_, RunLog::open(options_.out, step_));
  HONE_CHECK(write_training_summary(options_.out, summary(analyze::RunEnd::kUnfinished)));
  writer_.emplace(options_.out, recipe_.checkpoint.keep);
  if (options_.roofs)
    recorded_.emplace(*session_, *provider_, recipe_, *options_.roofs,
                      RunSpan{begun_at_, setup_.steps, setup_.batches->batches_per_epoch()});
  return {};
}

// Moments are f32 in every precision, and so are parameters but for weights = "bf16"; of the loss's scale, which fp16 has, there
// may be none. What does not fit is refused.
Status Trainer::restore(const Checkpoint& checkpoint) {
  const Status restored = session_->restore(checkpoint.states);
  const OtherTypes other = other_types(checkpoint, recipe_.train);
  if (other.back.empty()) return restored;
  if (!restored.ok())
    return restored.error().within(fmt::format(
        "the checkpoint is of a run{}, which this one,{}, cannot go on with; begin anew, or go on with{}",
        other.was, other.is, other.back));
  note(fmt::format("the checkpoint is of a run{}, and goes on{}: numbers are no longer equal bit by bit",
                   other.was, other.is));
  return {};
}

Status Trainer::resume() {
  std::vector<std::string> damaged;
  std::optional<Checkpoint> checkpoint = read_newest_checkpoint(options_.out, damaged);
  for (const std::string& what : damaged) note(what + "; the checkpoint before is used");
  if (!checkpoint) {
    if (!damaged.empty())
      return corrupt(fmt::format("{}: no checkpoint is whole; begin anew with its {}", options_.out.string(),
                                 model::kRecipeFile));
    note("no checkpoint was written yet: the run begins anew");
    return {};
  }
  HONE_CHECK(restore(*checkpoint));
  HONE_CHECK(setup_.batches->seek(checkpoint->place));
  step_ = begun_at_ = saved_ = checkpoint->step;
  seconds_before_ = checkpoint->seconds;
  note(fmt::format("goes on behind step {} of {}", step_, setup_.steps));
  return {};
}

// Whether somebody looks at the state that this step leaves, so that the next must not be given before it is over.
bool Trainer::is_looked_at_behind(int64_t step) const {
  return is_time_for(recipe_.train.evaluate_every, step) || is_time_for(recipe_.checkpoint.every, step) ||
         (recorded_ && recorded_->records(step));
}

Status Trainer::give_step(int64_t behind) {
  const bool last = behind + 1 == setup_.steps;
  if (!recorded_ || !recorded_->records(behind)) return runner_->give(last);
  return runner_->give_recorded(recorded_->recorder_of(behind), last);
}

// As many as can be given without what stands behind one of them being missed. An error comes behind the steps before it.
Status Trainer::give_steps() {
  while (runner_->given() < runner_->most_given()) {
    const int64_t behind = step_ + static_cast<int64_t>(runner_->given());
    if (behind == setup_.steps || (runner_->given() > 0 && is_looked_at_behind(behind))) return {};
    if (const Status given = give_step(behind); !given.ok()) {
      while (runner_->given() > 0) HONE_CHECK(take_step());
      return given.error();
    }
  }
  return {};
}

Status Trainer::look_between_steps() {
  const bool last = step_ == setup_.steps;
  if (is_time_for(recipe_.train.evaluate_every, step_) && !last) {
    if (Status judged = evaluate(); !judged.ok()) return kept_in_spite_of(judged.error());
  }
  if (is_time_for(recipe_.checkpoint.every, step_) && !last) HONE_CHECK(save());
  return {};
}

bool Trainer::has_reached_target() const {
  if (!recipe_.train.target || !result_.evaluation || result_.evaluation->step != step_) return false;
  const double metric = result_.evaluation->metric;
  return graph::larger_is_better(recipe_.objective.metric) ? metric >= *recipe_.train.target
                                                           : metric <= *recipe_.train.target;
}

// Who asks to stop while a step is given ahead gets it, too: what is saved is the state behind it, and says so.
Status Trainer::loop() {
  start_ns_ = now_ns();
  bool stops = false;
  while (step_ < setup_.steps) {
    if (!stops) HONE_CHECK(give_steps());
    HONE_CHECK(take_step());
    const bool is_between = runner_->given() == 0;
    if (is_between) HONE_CHECK(look_between_steps());
    if (is_between && has_reached_target()) {
      result_.end = TrainingEnd::kTarget;
      return {};
    }
    stops = stops || (options_.should_stop && options_.should_stop());
    if (stops && is_between) {
      result_.end = step_ == setup_.steps ? TrainingEnd::kDone : TrainingEnd::kStopped;
      return {};
    }
  }
  return {};
}

// What was learnt so far is worth more than what cannot be judged.
Status Trainer::kept_in_spite_of(Error error) {
  HONE_CHECK(save());
  HONE_CHECK(writer_->wait());
  return error.within(fmt::format("step {}, which is saved", step_));
}

Status Trainer::take_step() {
  HONE_ASSIGN(const DoneStep done, runner_->take());
  const StepNumbers& numbers = done.numbers;
  ++step_;
  // A scale that is too large costs a step; what no scale helps is an error.
  if (numbers.skipped() && numbers.loss_scale >= kLeastLossScale) return log_skipped(done);
  if (!std::isfinite(numbers.loss) || !std::isfinite(numbers.gradient_norm)) return not_finite(numbers);
  return log_step(done);
}

Status Trainer::log_skipped(const DoneStep& done) {
  const auto& [numbers, wait_s, step_s] = done;
  if (++skipped_ == 1)
    note(
        fmt::format("step {}: the gradients of the loss times {:g} are no finite numbers: the step changes "
                    "nothing, and the next is scaled by half of it",
                    step_, numbers.loss_scale));
  std::vector<std::pair<std::string, double>> line = {{"skipped", 1},
                                                      {"loss_scale", numbers.loss_scale},
                                                      {"step_ms", step_s * 1e3},
                                                      {"input_wait_ms", wait_s * 1e3}};
  if (std::isfinite(numbers.loss)) line.insert(line.begin(), {"loss", numbers.loss});
  return log_->add("train", step_, line);
}

Status Trainer::log_step(const DoneStep& done) {
  const auto& [numbers, wait_s, step_s] = done;
  const double weight = mean_step_s_ == 0 ? 1 : 0.1;
  mean_step_s_ += weight * (step_s - mean_step_s_);
  mean_wait_s_ += weight * (wait_s - mean_wait_s_);
  TrainingReport& r = result_.last;
  r.step = step_;
  r.steps = setup_.steps;
  r.epoch = static_cast<double>(step_) / static_cast<double>(setup_.batches->batches_per_epoch());
  r.loss = numbers.loss;
  r.rate = numbers.rate;
  r.gradient_norm = numbers.gradient_norm;
  r.samples_per_s = static_cast<double>(recipe_.train.batch) / mean_step_s_;
  r.tokens_per_s = r.samples_per_s * static_cast<double>(setup_.data.tokens_per_sample);
  r.input_wait = mean_wait_s_ / mean_step_s_;
  r.seconds_left = static_cast<double>(setup_.steps - step_) * mean_step_s_;
  if (options_.roofs) {
    const double roof = options_.roofs->compute_roof(product_type(recipe_.train), provider_->threads());
    r.mfu = roof > 0 ? setup_.program.step_flops / mean_step_s_ / roof : 0;
  }
  if (options_.on_step) options_.on_step(r);
  std::vector<std::pair<std::string, double>> line = {
      {"loss", r.loss},   {"rate", r.rate},          {"gradient_norm", r.gradient_norm},
      {"epoch", r.epoch}, {"step_ms", step_s * 1e3}, {"input_wait_ms", wait_s * 1e3}};
  if (numbers.loss_scale > 0) line.emplace_back("loss_scale", numbers.loss_scale);
  if (!result_.memory.predicted.one_memory())
    line.emplace_back("device_bytes", static_cast<double>(memory_->on_device()));
  return log_->add("train", step_, line);
}

Status Trainer::not_finite(const StepNumbers& numbers) {
  (void)writer_->wait();
  const std::string what = describe_non_finite(numbers.loss, numbers.gradient_norm);
  (void)write_trace();
  recorded_.reset();
  runner_.reset();
  session_.reset();  // its memory is needed for the plan that looks
  const NonFinite found = find_non_finite(setup_.program, graphs_, *provider_, !recipe_.train.deterministic,
                                          *setup_.batches, *setup_.data.training, options_.out, step_);
  std::string kept = "no checkpoint had been written";
  if (const auto list = list_checkpoints(options_.out); !list.empty())
    kept = fmt::format("the last good state is {}", list.front().string());
  return invalid(
      fmt::format("step {}: {}; {}; {}{}", step_, what, found.where, kept,
                  found.in_data ? "" : ". A lower learning rate, a warm-up or [train] clip may help"));
}

Status Trainer::evaluate() {
  if (!setup_.validation || evaluated_ == step_) return {};
  HONE_ASSIGN(const EvaluationNumbers numbers,
              session_->evaluate(*setup_.validation, *setup_.data.validation));
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
  checkpoint.place = runner_->place();
  checkpoint.seconds = seconds_before_ + seconds_since(start_ns_);
  if (result_.evaluation) checkpoint.metric = result_.evaluation->metric;
  checkpoint.precision = recipe_.train.precision;
  checkpoint.residual = recipe_.train.residual;
  checkpoint.states = std::move(states);
  return checkpoint;
}

// A disk that is full for a while costs a checkpoint, not the run.
Status Trainer::save() {
  if (saved_ == step_) return {};
  // Before the states are copied: two copies at once are more than was foretold, and a slow disk would leave them so.
  if (const Status before = writer_->wait(); !before.ok())
    note(before.error().message + "; training goes on");
  HONE_ASSIGN(model::NamedTensors states, session_->states());
  if (!all_finite(states)) {  // the next step will say so; what was saved before is worth more
    note(fmt::format("step {}: weights are no longer finite; this state is not saved", step_));
    return {};
  }
  HONE_CHECK(writer_->write(checkpoint_now(std::move(states))));
  saved_ = step_;
  return {};
}

Status Trainer::write_model() {
  HONE_ASSIGN(const auto values, session_->trained_values());
  HONE_ASSIGN(const graph::Graph trained, graph::with_constants(setup_.program.model.base, values));
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
  if (!recorded_ || recorded_->count() == 0) return trace::write_run_info(options_.out, info);
  HONE_ASSIGN(const Profile profile, recorded_->profile(setup_.batches->counts().limiting_stage()));
  result_.reference_ms = recorded_->reference_ms(profile);
  return trace::write_run_folder(options_.out, info, profile.trace);
}

// Written first, judged then; what fails keeps nothing else from being tried. The error is the first.
Status Trainer::finish() {
  result_.limiting_stage = data::stage_name(setup_.batches->counts().limiting_stage());
  result_.seconds = seconds_before_ + seconds_since(start_ns_);
  Status first = save();
  const auto also = [&](Status next) {
    if (first.ok()) first = std::move(next);
  };
  also(writer_->wait());
  if (result_.end != TrainingEnd::kStopped) {
    also(write_model());
    if (Status judged = evaluate(); !judged.ok())
      also(judged.error().within("the run is saved, but its last evaluation failed"));
  }
  for (const data::Loader* loader : {setup_.batches.get(), setup_.validation.get()})
    for (const data::Damage& damage : loader ? loader->damages() : std::vector<data::Damage>())
      note(fmt::format("left out: {}", damage.message));
  if (skipped_ > 0)
    note(fmt::format("{} changed nothing, because gradients of the scaled loss were no finite numbers",
                     counted(static_cast<double>(skipped_), "step")));
  for (const auto& kept : setup_.data.on_disk)
    if (const auto problem = kept->problem())
      note(problem->message + "; what else was decoded is not kept there");
  memory_->count(result_.memory);
  note("memory: " + measured_memory_text(result_.memory));
  also(write_trace());
  analyze::TrainingRun run = summary(!first.ok()                            ? analyze::RunEnd::kFailed
                                     : result_.end == TrainingEnd::kStopped ? analyze::RunEnd::kStopped
                                     : result_.end == TrainingEnd::kTarget  ? analyze::RunEnd::kTarget
                                                                            : analyze::RunEnd::kDone);
  if (!first.ok()) run.failure = first.error().message;
  if (const Status page = write_report(run); !page.ok() && first.ok())
    note(page.error().message + "; the run itself is whole, but has no page");
  return first;
}

analyze::TrainingRun Trainer::summary(analyze::RunEnd end) const {
  const double seconds = seconds_before_ + (start_ns_ > 0 ? seconds_since(start_ns_) : 0);
  analyze::TrainingRun run =
      describe_run({recipe_, setup_.program, *setup_.batches, result_.memory, *provider_, setup_.steps,
                    setup_.data.tokens_per_sample, seconds, options_.command},
                   end);
  for (const auto& [op, ms] : result_.reference_ms)
    run.notes.push_back(fmt::format("{} ran by the slow reference: {:.2f} ms a step", op, ms));
  return run;
}

// Of the whole folder, so that a run that was resumed shows all its parts.
Status Trainer::write_report(const analyze::TrainingRun& run) {
  HONE_CHECK(write_training_summary(options_.out, run));
  HONE_ASSIGN(const analyze::TrainingRun whole, read_training_run(options_.out));
  HONE_ASSIGN(result_.report, report::write_training_report(options_.out, whole));
  return {};
}

// A run that fails says why; its page shows how it came to that. What goes wrong with the page is not what went wrong.
void Trainer::leave_what_is_known(const Error& failure) {
  if (session_) (void)write_trace();
  analyze::TrainingRun run = summary(analyze::RunEnd::kFailed);
  run.failure = failure.message;
  if (write_report(run).ok()) note("report    " + result_.report.string());
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
