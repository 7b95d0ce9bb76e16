// What a recipe says to compute: the graphs of its step and of its evaluation, and the values that they begin with.
// Nothing runs here.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "data/dataset.h"
#include "graph/graph.h"
#include "graph/training/step.h"
#include "graph/training/trainable.h"
#include "model/recipe/recipe.h"

namespace hone::lab {

struct TrainingProgram {
  graph::TrainableModel model;  // its inputs' batch is open
  graph::StepOptions options;
  graph::Graph step;
  graph::Graph evaluation;
  std::map<std::string, Tensor> initial;  // of every input of the step but the data
  Tensor zeros;                           // whose elements those of `initial` share that begin with 0
  int64_t parameters = 0;                 // trained numbers
  int64_t classes = 0;                    // that labels number; 0: labels are no class numbers
  double step_flops = 0;
};

// `steps` is the length of the run, `evaluation_batch` how many samples are evaluated at once. An error names what of
// recipe, model and data does not fit.
Result<TrainingProgram> make_program(const model::Recipe& recipe, std::span<const data::Field> fields,
                                     int64_t steps, int64_t evaluation_batch);

// Names of weights that are not frozen, but that the optimizer leaves as they are: no gradient reaches them, or the loss does not
// depend on them.
std::vector<std::string> untrained_weights(const TrainingProgram& program);

}  // namespace hone::lab
