// Losses as graphs: what a training recipe names, made of ordinary nodes, so that every provider runs them and
// differentiate() knows them. Each function adds its loss to a builder and returns it: f64 where the scores are
// f64, else f32, whatever narrower type the scores have. All stay finite at any finite score, and so do their
// gradients. Errors name the type that does not fit; values (a class that is none) are checked when the graph
// runs.
#pragma once

#include <cstdint>
#include <optional>

#include "core/result.h"
#include "graph/builder.h"

namespace hone::graph {

// Over all elements: their mean or sum as a scalar, or each element's own loss.
enum class LossReduction : uint8_t { kMean, kSum, kNone };

// −log softmax(scores)[target], of scores [N, C, d…] and classes [N, d…] of an integer type.
//
// With class weights w and smoothing ε (Szegedy et al. 2016, arXiv:1512.00567, section 7) a sample costs
// (1 − ε) · w[t] · −log p[t] + ε / C · Σ_c w[c] · −log p[c]. The mean is divided by Σ w[t] over the samples
// that count, as PyTorch's is; it is NaN where all are ignored.
struct CrossEntropyOptions {
  std::optional<int64_t> ignore_index = {};  // samples of this class cost nothing
  ValueId class_weights = kNoValue;          // [C], in the type of the scores; never trained
  double label_smoothing = 0;                // ε in [0, 1]; needs C to be known
  LossReduction reduction = LossReduction::kMean;
};
Result<ValueId> cross_entropy_loss(GraphBuilder& builder, ValueId scores, ValueId targets,
                                   const CrossEntropyOptions& options = {});

// −w · t · log σ(x) − (1 − t) · log(1 − σ(x)), as (1 − t) · x + (1 + (w − 1) · t) · log(1 + e^−x): of logits x
// and targets t in [0, 1] of the same shape (integers and bool are taken as numbers).
struct BinaryCrossEntropyOptions {
  ValueId positive_weight = kNoValue;  // w, broadcast to the logits; 1 where absent
  LossReduction reduction = LossReduction::kMean;
};
Result<ValueId> binary_cross_entropy_loss(GraphBuilder& builder, ValueId logits, ValueId targets,
                                          const BinaryCrossEntropyOptions& options = {});

// What the scores of a segmentation are turned into probabilities by.
enum class Probabilities : uint8_t { kGiven, kSigmoid, kSoftmax };

// 1 − (2 Σ p·t + s) / (Σ p + Σ t + s) of each class, over the pixels of a sample or of the whole batch; the mean
// over samples and classes. Scores are [N, C, d…]; targets have the same shape, or are the classes [N, d…] of
// C > 1. With `squared`, Σ p² + Σ t² (Milletari et al. 2016, arXiv:1606.04797).
struct DiceOptions {
  Probabilities probabilities = Probabilities::kSigmoid;
  double smooth = 1;  // s: also what an empty class with an empty prediction costs 0 by
  bool squared = false;
  bool over_batch = false;        // the sums go over the batch, too
  bool skips_background = false;  // class 0 does not count
};
Result<ValueId> dice_loss(GraphBuilder& builder, ValueId scores, ValueId targets,
                          const DiceOptions& options = {});

// (y − t)², |y − t|, and Huber's: d² / 2 up to δ, δ · (|d| − δ / 2) beyond (Huber 1964). Targets of any numeric
// type, in the shape of the prediction.
Result<ValueId> squared_error_loss(GraphBuilder& builder, ValueId predicted, ValueId targets,
                                   LossReduction reduction = LossReduction::kMean);
Result<ValueId> absolute_error_loss(GraphBuilder& builder, ValueId predicted, ValueId targets,
                                    LossReduction reduction = LossReduction::kMean);
Result<ValueId> huber_loss(GraphBuilder& builder, ValueId predicted, ValueId targets, double delta = 1,
                           LossReduction reduction = LossReduction::kMean);

// T² · Σ_c q · (log q − log p), where q = softmax(teacher / T) and p = softmax(student / T) along axis 1; the
// mean over samples (Hinton et al. 2015, arXiv:1503.02531). Scores are [N, C, d…]. A class that the teacher
// masks by −∞ costs nothing.
struct DistillationOptions {
  double temperature = 1;
  LossReduction reduction = LossReduction::kMean;  // kNone: [N, d…]
};
Result<ValueId> distillation_loss(GraphBuilder& builder, ValueId student, ValueId teacher,
                                  const DistillationOptions& options = {});

}  // namespace hone::graph
