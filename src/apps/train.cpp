// hone train: a recipe, trained. The loop is a function of the library (lab/training/trainer.h); here are the command, the
// progress line and what signals mean.
#include <atomic>
#include <cmath>
#include <csignal>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "apps/command.h"
#include "apps/model_options.h"
#include "apps/new_folder.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/open_files.h"
#include "core/units.h"
#include "lab/ceilings/device_ceilings.h"
#include "lab/training/trainer.h"
#include "report/text.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;

struct TrainOptions {
  std::string recipe;
  std::string out;
  std::string resume;
  std::vector<std::string> set;
  std::string device = kAnyDevice;
  int threads = 0;
  std::string json;
};

// The first request to end lets the step finish and the run be saved; a second one ends the program.
std::atomic<int> stop_signal = 0;

void on_request(const Request& request) {
  int none = 0;
  if (stop_signal.compare_exchange_strong(none, request.signal)) return;
  remove_unfinished_files();
  ::_exit(128 + request.signal);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(seconds, 0.0));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

// A line that changes in place on a terminal; a line every few seconds elsewhere.
class TrainingProgress {
 public:
  TrainingProgress() : terminal_(::isatty(STDERR_FILENO) != 0) {}

  void evaluated(const lab::EvaluationReport& report) {
    last_ = report;
    if (report.metric_name != "none")
      print_line(fmt::format("step {}: {} {:.4f}, loss {:.4f} on {} samples", report.step, report.metric_name,
                             report.metric, report.loss, report.samples));
    else
      print_line(fmt::format("step {}: loss {:.4f} on {} samples", report.step, report.loss, report.samples));
  }

  void stepped(const lab::TrainingReport& r) {
    const int64_t now = now_ns();
    const int64_t pause = terminal_ ? 100'000'000 : 5'000'000'000;
    if (is_silenced() || (now - shown_ns_ < pause && r.step != 1 && r.step != r.steps)) return;
    shown_ns_ = now;
    const std::string line = line_of(r);
    if (!terminal_) return say(line + "\n");
    constexpr int kWidth = 16;
    const auto filled = static_cast<int>(kWidth * r.step / r.steps);
    std::string bar;
    for (int i = 0; i < kWidth; ++i) bar += i < filled ? "█" : "░";
    say(fmt::format("\r\033[K{} {}", bar, line));
    shown_ = true;
  }

  // Above the line.
  void print_line(const std::string& text) {
    clear();
    const std::string line = report::clean_utf8(text) + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);  // that nobody reads it any more is said at the end
    std::fflush(stdout);
  }
  void clear() {
    if (shown_ && terminal_) say("\r\033[K");
    shown_ = false;
  }

 private:
  std::string line_of(const lab::TrainingReport& r) const {
    std::string line = fmt::format("step {}/{}  loss {:.4f}", r.step, r.steps, r.loss);
    if (last_ && last_->metric_name != "none")
      line += fmt::format("  {} {:.4f}", last_->metric_name, last_->metric);
    if (r.tokens_per_s > 0)
      line += fmt::format("  {:.0f} tokens/s", r.tokens_per_s);
    else
      line += fmt::format("  {:.1f} samples/s", r.samples_per_s);
    if (r.mfu > 0) line += fmt::format("  MFU {:.1f} %", r.mfu * 100);
    return line + fmt::format("  input {:.1f} %  {} left", r.input_wait * 100, duration_text(r.seconds_left));
  }

  bool terminal_;
  bool shown_ = false;
  int64_t shown_ns_ = 0;
  std::optional<lab::EvaluationReport> last_;
};

Result<model::Recipe> recipe_of(const TrainOptions& options) {
  if (options.recipe.empty() && options.resume.empty())
    return usage_error("train: which recipe? give RECIPE.toml, or --resume DIR to go on with a run");
  if (!options.recipe.empty() && !options.resume.empty())
    return usage_error("train: --resume goes on with the recipe of its folder; leave RECIPE.toml out");
  if (options.resume.empty()) return model::read_recipe(options.recipe, options.set);
  const fs::path kept = fs::path(options.resume) / model::kRecipeFile;
  std::error_code none;
  if (!fs::exists(kept, none))
    return not_found(fmt::format("--resume {}: is no folder of a training run (it has no {})", options.resume,
                                 model::kRecipeFile));
  return model::read_recipe(kept, options.set);
}

std::string_view end_name(lab::TrainingEnd end) {
  return end == lab::TrainingEnd::kDone     ? "done"
         : end == lab::TrainingEnd::kTarget ? "target reached"
                                            : "stopped";
}

nlohmann::ordered_json train_json(const model::Recipe& recipe, const lab::TrainerOptions& options,
                                  const lab::TrainingResult& result) {
  nlohmann::ordered_json json = {{"schema", 1},
                                 {"recipe", recipe.file},
                                 {"name", recipe.name},
                                 {"device", options.device},
                                 {"out", options.out.string()},
                                 {"end", end_name(result.end)},
                                 {"step", result.last.step},
                                 {"steps", result.last.steps},
                                 {"parameters", result.parameters},
                                 {"loss", result.last.loss},
                                 {"seconds", result.seconds},
                                 {"samples_per_s", result.last.samples_per_s},
                                 {"mfu", result.last.mfu},
                                 {"input_wait", result.last.input_wait},
                                 {"input_limited_by", result.limiting_stage}};
  json["evaluation"] = nullptr;
  if (const auto& e = result.evaluation)
    json["evaluation"] = {{"step", e->step},
                          {"loss", e->loss},
                          {"samples", e->samples},
                          {"metric", e->metric_name},
                          {"value", e->metric}};
  json["model"] =
      result.model.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(result.model.string());
  json["memory"] = lab::memory_report_json(result.memory);
  json["report"] = result.report.string();
  json["by_reference"] = nlohmann::ordered_json::array();
  for (const auto& [op, ms] : result.reference_ms) json["by_reference"].push_back({{"op", op}, {"ms", ms}});
  return json;
}

void print_report(const lab::TrainingResult& result, TrainingProgress& progress) {
  if (!result.report.empty()) progress.print_line("report    " + result.report.string());
}

void print_end(const lab::TrainerOptions& options, const lab::TrainingResult& result,
               TrainingProgress& progress) {
  std::string by_reference;
  for (const auto& [op, ms] : result.reference_ms)
    if (ms >= 0.1) by_reference += fmt::format("{}{} {:.1f} ms", by_reference.empty() ? "" : ", ", op, ms);
  if (!by_reference.empty()) progress.print_line("by reference, in a step: " + by_reference);
  constexpr double kWaits = 0.01;  // of the time: what nobody notices
  if (result.last.input_wait > kWaits)
    progress.print_line(
        fmt::format("input: steps waited {:.0f} % of the time for data; what takes longest is to {} (more "
                    "[data] workers, or a cache, may help)",
                    result.last.input_wait * 100, result.limiting_stage));
  if (result.end == lab::TrainingEnd::kStopped) {
    progress.print_line(fmt::format("stopped behind step {} of {}; saved: hone train --resume {}",
                                    result.last.step, result.last.steps, options.out.string()));
    print_report(result, progress);
    return;
  }
  progress.print_line(fmt::format("{} after {} steps in {}: {}", end_name(result.end), result.last.step,
                                  duration_text(result.seconds), result.model.string()));
  print_report(result, progress);
}

Status run_train(TrainOptions options, Program& program) {
  HONE_CHECK(check_threads(options.threads));
  HONE_CHECK(settle_device(&options.device));
  HONE_ASSIGN(const model::Recipe recipe, recipe_of(options));
  lab::TrainerOptions trainer;
  trainer.resume = !options.resume.empty();
  trainer.out = trainer.resume        ? fs::path(options.resume)
                : options.out.empty() ? new_folder_name("hone-train")
                                      : fs::path(options.out);
  if (!trainer.resume) HONE_CHECK(check_holds_nothing(trainer.out));
  HONE_CHECK(check_folder(trainer.out));
  trainer.device = options.device;
  trainer.threads = options.threads;
  trainer.command = program.command_line;
  lab::CeilingsOptions measure;
  measure.quick = true;
  if (auto ceilings = lab::load_or_measure_ceilings_of(options.device, lab::describe_machine(), measure);
      ceilings.ok())
    trainer.roofs = ceilings->roofs;

  TrainingProgress progress;
  ProgressBar compiling("preparing");
  trainer.on_note = [&](const std::string& text) { progress.print_line(text); };
  trainer.on_compile = [&](std::size_t done, std::size_t total, const std::string& node) {
    compiling.update(static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(total, 1)), node);
    return stop_signal == 0;
  };
  trainer.on_step = [&](const lab::TrainingReport& report) {
    compiling.finish();
    progress.stepped(report);
  };
  trainer.on_evaluation = [&](const lab::EvaluationReport& report) { progress.evaluated(report); };
  trainer.should_stop = [] { return stop_signal != 0; };
  pass_requests_to(on_request);
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away costs lines, not hours of training
  const auto result = lab::train(recipe, trainer);
  pass_requests_to(nullptr);
  progress.clear();
  compiling.finish();
  if (!result.ok()) return result.error();
  print_end(trainer, *result, progress);
  if (result->end == lab::TrainingEnd::kStopped && stop_signal != 0 && stop_signal != SIGTERM)
    program.exit_code = 128 + stop_signal;
  return write_json(options.json, train_json(recipe, trainer, *result));
}

}  // namespace

void add_train_command(Program& program) {
  auto options = std::make_shared<TrainOptions>();
  Command command = program.add("train", "train a model as a recipe says",
                                [options, &program] { return run_train(*options, program); });
  command.positional("RECIPE.toml", &options->recipe, "what to train, on what and how (docs/training.md)");
  command.option("--out DIR", &options->out,
                 "the folder for metrics, checkpoints and the trained model (default: hone-train-DATE-TIME)");
  command
      .option("--resume DIR", &options->resume,
              "go on with the run in this folder, as if it had never stopped")
      .excludes("--out");
  command.option("--set KEY=VALUE", &options->set,
                 "another value for a key of the recipe, as train.batch=64");
  add_device_to(command, &options->device);
  command.option("--threads N", &options->threads, "threads to use (default: every core)").positive();
  command.option("--json FILE", &options->json, "also write how it went to this file").written();
  command.footer(
      "SIGTERM, Ctrl-C and a terminal that is closed (unless by nohup) let the step finish and save the run; "
      "a second "
      "request ends it at once. What a run "
      "needs in "
      "memory is said before its first step; --set train.memory=\"2 GiB\" bounds it.");
}

}  // namespace hone::apps
