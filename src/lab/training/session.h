// A training program on a device: its step and its evaluation as plans, and the states between them.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "data/batches.h"
#include "data/dataset.h"
#include "lab/training/batch_inputs.h"
#include "lab/training/program.h"
#include "model/safetensors/safetensors.h"
#include "passes/pipeline.h"
#include "runtime/plan.h"
#include "runtime/provider.h"
#include "runtime/timing_cache.h"

namespace hone::lab {

struct StepNumbers {
  double loss = 0;
  double rate = 0;
  double gradient_norm = 0;
  double loss_scale = 0;  // that the step multiplied its loss by; 0: it scales none

  // Whether the step left everything as it was, because its scaled gradients were no finite numbers.
  bool skipped() const { return loss_scale > 0 && !std::isfinite(gradient_norm); }
};

struct EvaluationNumbers {
  double loss = 0;
  double metric = 0;
  int64_t samples = 0;  // different ones
};

// A program as its plans will run it.
struct SessionGraphs {
  graph::Graph step, evaluation;
  std::vector<passes::TypeChoice> types = {};  // of the step's operators, where it has narrow types
};
// The step through all passes, for this provider, in `precision` (as recipes call it). An error where the device would narrow
// nothing.
Result<passes::PipelineResult> optimised_step(const TrainingProgram& program,
                                              const runtime::Provider& provider,
                                              const std::set<std::string>& without_passes,
                                              const std::string& precision);
// And the evaluation, in f32, as the trained model is written.
Result<SessionGraphs> optimised_graphs(const TrainingProgram& program, const runtime::Provider& provider,
                                       const std::set<std::string>& without_passes = {},
                                       const std::string& precision = "f32");

struct SessionOptions {
  bool autotune = true;
  runtime::TimingCache* cache = nullptr;
  std::set<std::string> without_passes = {};
  std::string precision = "f32";
  bool check_numbers = false;  // a step ends with an error at the first operator that makes NaN or Inf
  std::function<bool(std::size_t done, std::size_t total, const std::string& node)> progress = {};
  const SessionGraphs* graphs = nullptr;  // of the program; null: optimised_graphs()
};

// Not thread-safe. `program` and `provider` outlive it.
class Session {
 public:
  // Holds the program's initial values.
  static Result<std::unique_ptr<Session>> make(const TrainingProgram& program,
                                               const runtime::Provider& provider,
                                               const SessionOptions& options = {});

  // The batch's tensors are the program's fields, in order. An error where labels are no classes: it names the sample
  // by what `data` calls it.
  Status write_batch(const data::Batch& batch, const data::Dataset& data);
  // The same in two halves: the first may be called while the device runs a step, the second is for the next one.
  Status ready_batch(const data::Batch& batch, const data::Dataset& data);
  Status take_batch();
  // On what was written. `meanwhile`: what the host does while a device of its own runs it (Plan::run).
  Result<StepNumbers> step(const std::function<Status()>& meanwhile = {});
  Result<StepNumbers> numbers() const;  // of the last step
  // A step given before the ones before it have been looked at (Plan::give), where that can be.
  struct TakenStep {
    StepNumbers numbers;
    std::optional<double> idle_s;  // of the device, before it
  };
  bool can_give_ahead() const { return plan_->can_give_ahead(); }
  Status give_step();
  Result<TakenStep> take_step();  // the first that was given and not taken
  runtime::Plan& plan() { return *plan_; }

  // One epoch of `batches`, with the moving average of the parameters where there is one.
  Result<EvaluationNumbers> evaluate(data::Batches& batches, const data::Dataset& data);

  // Everything that a step reads but the data.
  Result<model::NamedTensors> states() const;
  Status restore(const model::NamedTensors& states);
  // Parameters, as evaluated, and statistics, by their names in the model.
  Result<std::map<std::string, Tensor>> trained_values() const;

 private:
  Session(const TrainingProgram& program) : program_(program) {}
  Status make_plans(const runtime::Provider& provider, const SessionOptions& options);
  Result<Tensor> trained_value(const graph::NamedTensor& tensor) const;
  Status copy_to_evaluation();
  std::span<const std::size_t> number_outputs() const;
  Status check_labels(const data::Batch& batch, const data::Dataset& data) const;

  const TrainingProgram& program_;
  std::unique_ptr<runtime::Plan> plan_;
  std::unique_ptr<runtime::Plan> evaluation_;
  BatchInputs data_inputs_, evaluation_data_inputs_;
  int64_t classes_ = 0;  // that a label may be below; 0: labels are no class numbers
};

}  // namespace hone::lab
