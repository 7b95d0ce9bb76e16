// The training step as one static graph: forward, loss, backward, clipping, learning rate, optimizer, moving average.
// Parameters, moments, statistics, counters and the place in the random stream are states, so whoever runs the graph
// keeps everything in place and a recorded step can be replayed. Here is also the graph that evaluates the same model.
//
// Accumulation is in the graph: the batch is cut into micro-batches, whose forward and backward passes follow each
// other. Losses are sums over samples, divided by what the whole batch counts, so that micro-batches with unequal
// numbers of labels weigh as they would in one batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "graph/training/objective.h"
#include "graph/training/optimizer.h"
#include "graph/training/schedule.h"
#include "graph/training/trainable.h"

namespace hone::graph {

// One tensor of a batch: an input "data.<name>" of the graphs below.
struct BatchField {
  std::string name;
  TensorType type;    // with the axis of the batch, static
  std::string feeds;  // the model's input that it is; empty: none (labels)
};

struct StepOptions {
  std::vector<BatchField> fields;  // of the whole batch
  Objective objective;
  Optimizer optimizer;
  Schedule schedule;
  int64_t accumulate = 1;  // micro-batches; divides the batch
  double clip = 0;         // most that the gradients' global norm may be; 0: whatever it is
  double ema = 0;          // 0: no moving average of the parameters
  // Gradients are of the loss times a number, a state, that keeps them within f16's range: halved where they are no finite
  // numbers, in which case the step changes no parameter, moment, statistic or mean; doubled after kScaleInterval steps
  // without. Micikevicius et al., "Mixed Precision Training" (ICLR 2018); numbers as torch.amp.GradScaler's.
  bool scale_loss = false;
  // Parameters are states of bf16, without f32 copies that last: updates are computed in f32 and rounded stochastically
  // (core/stochastic_rounding.h) by this seed. Moments and moving averages stay f32.
  std::optional<uint64_t> bf16_weights = {};
  // For who narrows the step's types: sums of the residual stream, too (passes/pass.h).
  bool narrow_residual = false;
};

inline constexpr const char* kDataPrefix = "data.";
inline constexpr const char* kEmaPrefix = "ema.";
inline constexpr const char* kUpdatesState = "train.updates";              // i64[]: updates made
inline constexpr const char* kLossScaleState = "train.loss_scale";         // f32[]
inline constexpr const char* kStepsAtScaleState = "train.steps_at_scale";  // i64[]: since it changed
inline constexpr float kFirstLossScale = 65536;
inline constexpr int64_t kScaleInterval = 2000;

// Outputs before those of states, in order.
enum StepOutput : std::size_t {
  kStepLoss,
  kStepRate,
  kStepNorm,      // of gradients before clipping; no finite number where the step was skipped
  kStepLossScale  // only with scale_loss: what this step's loss was multiplied by
};                // f32[] each

// `micro` is the model's training form for one micro-batch, its types static (TrainableModel::training,
// specialised, with a random stream). Parameters that the loss does not depend on are left out; those that no gradient
// reaches (they are compared, rounded to integers, …) are inputs, but no states: they stay as they are.
Result<Graph> make_step(const Graph& micro, const std::vector<NamedTensor>& parameters,
                        const StepOptions& options);

// `inference` for the whole batch. Outputs: for each term of the loss its sum and what it is divided by, then what the
// metric counts (objective.h).
Result<Graph> make_evaluation(const Graph& inference, const StepOptions& options);

}  // namespace hone::graph
