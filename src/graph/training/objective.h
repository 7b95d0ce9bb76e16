// What a model is trained for, as a user chooses it: losses (losses.h) and metrics as nodes behind its outputs. Losses are
// sums and what they are divided by, apart: micro-batches share a divisor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/builder.h"

namespace hone::graph {

enum class LossKind : uint8_t {
  kCrossEntropy,  // logits over classes against class numbers
  kBce,           // a logit against 0 or 1, each element
  kDice,  // 1 - soft Dice of each sample: of one logit a pixel, or of the softmax's classes but the first
  kMse,
  kMae,
  kHuber,
};
std::span<const std::string_view> loss_names();  // in the order of the enumeration

enum class MetricKind : uint8_t {
  kNone,
  kAccuracy,     // share of labels that the largest logit names
  kDice,         // 2·|A∩B| / (|A| + |B|) over all pixels of the data, mean over classes but the first
  kIou,          // |A∩B| / |A∪B|, the same
  kBitsPerByte,  // cross-entropy in bits, where a token is a byte
  kPerplexity,   // e to the cross-entropy
};
std::span<const std::string_view> metric_names();  // in the order of the enumeration
bool larger_is_better(MetricKind metric);

struct LossTerm {
  LossKind kind = LossKind::kCrossEntropy;
  double weight = 1;
};

struct Objective {
  std::vector<LossTerm> terms;
  std::string output;             // the model's output that is judged; empty: its first
  std::string target;             // the field with the labels
  std::optional<int64_t> ignore;  // a label that does not count (cross-entropy)
  double smoothing = 0;           // of labels (cross-entropy)
  double huber_delta = 1;
  MetricKind metric = MetricKind::kNone;
};

// Whether a prediction and labels of these types fit the objective: static shapes, extents, element types. The error
// says what would.
Status check_objective(const Objective& objective, const TensorType& prediction, const TensorType& target);

// The extent of classes of a prediction for class numbers of this shape: axis 1 or the last, whichever leaves the
// labels' shape.
Result<int64_t> class_axis(const TensorType& prediction, const TensorType& target);

// One term over a micro-batch: f32[] each. `count` depends on the labels alone.
struct LossSum {
  ValueId sum;
  ValueId count;
};
Result<LossSum> emit_loss(GraphBuilder& builder, const Objective& objective, const LossTerm& term,
                          ValueId prediction, ValueId target);
// `count` alone, of labels that may be of a larger batch.
ValueId emit_loss_count(GraphBuilder& builder, const Objective& objective, const LossTerm& term,
                        const TensorType& prediction, ValueId target);

// What a metric is computed from, summed over all batches: one tensor f32[samples, n].
std::vector<ValueId> emit_metric_counts(GraphBuilder& builder, const Objective& objective, ValueId prediction,
                                        ValueId target);
// The metric of the sums of those counts over samples; of kBitsPerByte and kPerplexity, of the mean loss.
double metric_of(MetricKind metric, const std::vector<double>& counts, double mean_loss);

}  // namespace hone::graph
