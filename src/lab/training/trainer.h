// The training loop: a recipe becomes a run folder. A function with callbacks: what is shown while it runs, and when it is
// to stop, is the caller's (apps/train.cpp).
//
// The run folder: recipe.toml (as resolved: enough to go on), environment.json, classes.json, metrics.jsonl, TensorBoard
// events, checkpoints/, training.json, and at the end model.onnx, run.json, the trace of some steps and report.html, which
// shows it all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/roofs.h"
#include "lab/training/memory_report.h"
#include "model/recipe/recipe.h"
#include "runtime/provider.h"

namespace hone::lab {

struct TrainingReport {
  int64_t step = 0;  // done
  int64_t steps = 0;
  double epoch = 0;
  double loss = 0;
  double rate = 0;
  double gradient_norm = 0;
  double samples_per_s = 0;  // of late
  double tokens_per_s = 0;   // 0: the data are no tokens
  double mfu = 0;  // FLOPs of the model ÷ what the machine could do in the time; 0: its roofs are not known
  double input_wait = 0;  // share of the time
  double seconds_left = 0;
};

struct EvaluationReport {
  int64_t step = 0;
  double loss = 0;
  std::string metric_name;  // "none": the recipe has no metric
  double metric = 0;
  int64_t samples = 0;
};

struct TrainerOptions {
  std::filesystem::path out;
  bool resume = false;  // `out` is a run to go on with
  std::string device = "cpu";
  int threads = 0;
  std::shared_ptr<const runtime::Provider> provider;  // of `device`; null: it is made by that name
  std::optional<Roofs> roofs;                         // for MFU, and for the trace of some steps
  std::string command;                                // as typed

  // All may be empty. Calls come on the thread of train(), between steps.
  std::function<void(const TrainingReport&)> on_step;
  std::function<void(const EvaluationReport&)> on_evaluation;
  std::function<void(const std::string&)> on_note;  // a line for people
  std::function<bool()> should_stop;                // after each step
  std::function<bool(std::size_t done, std::size_t total, const std::string& node)> on_compile;
};

enum class TrainingEnd : uint8_t { kDone, kTarget, kStopped };

struct TrainingResult {
  TrainingEnd end = TrainingEnd::kDone;
  TrainingReport last;
  std::optional<EvaluationReport> evaluation;  // the last
  int64_t parameters = 0;
  std::string
      limiting_stage;  // of reading ahead, what takes longest: "read", "decode", "augment", "assemble"
  double seconds = 0;  // of training, all parts of a resumed run together
  std::filesystem::path model;   // empty where it was stopped
  std::filesystem::path report;  // the page of the whole run
  std::vector<std::pair<std::string, double>>
      reference_ms;  // operators that ran by reference, ms a step, slowest first
  TrainingMemoryReport memory;
};

// An error of recipe or model, of known labels or of the first batch comes before anything is written. Where the loss becomes NaN or infinite the
// error says in which step, and at which operator; the last good checkpoint stays.
Result<TrainingResult> train(const model::Recipe& recipe, const TrainerOptions& options);

// How many steps a recipe means with so many batches an epoch.
int64_t training_steps(const model::RecipeTrain& train, int64_t batches_per_epoch);
// So many of `samples` that are evaluated at once that few are left out.
int64_t evaluation_batch(int64_t samples, int64_t batch);

}  // namespace hone::lab
