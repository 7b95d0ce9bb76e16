// A model made trainable, whether it was exported for inference or for training: weights that were constants become inputs, and what behaves otherwise while
// training (batch normalization, dropout) takes its training form. Graph → graph; who trains adds a loss, gradients
// and an optimizer (step.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::graph {

struct NamedTensor {
  std::string name;
  Tensor value;
};

struct TrainableModel {
  Graph base;  // the model as it was given, in its inference form, without weights that nodes must not share
  Graph training;   // inputs: the model's, then parameters and statistics, by name; statistics are states
  Graph inference;  // the same inputs; statistics only read
  std::vector<NamedTensor> parameters;  // trained ones, with the values of the model
  std::vector<NamedTensor> statistics;  // running means and variances of batch normalizations
};

struct TrainableOptions {
  std::vector<std::string> freeze;  // patterns of names of weights that stay as they are (optimizer.h)
};

// A weight is a constant of floating point that an operator computes with, rather than a setting of one (scales of a
// Resize) or a constant of the exporter's ("…/Constant_3"). Weights that exporters merged because they were equal are each
// its own again, as far as the file tells: where they left an Identity, and in batch normalizations. A batch normalization whose scale is frozen
// normalizes by its running statistics in training, too. An error where nothing is left to train, where a pattern
// matches nothing, or where a weight is not f32.
Result<TrainableModel> make_trainable(const Graph& model, const TrainableOptions& options = {});

// `base` with the values of some of its constants, by name: the trained model.
Result<Graph> with_constants(const Graph& base, const std::map<std::string, Tensor>& values);

}  // namespace hone::graph
