// The harness of this folder: gradients that differentiate() adds to a graph against central finite
// differences of the interpreted graph, in f64.
#pragma once

#include <functional>
#include <vector>

#include "core/shape.h"
#include "graph/builder.h"

namespace hone::gradients {

// y of the inputs, made in a fresh builder.
using Build = std::function<graph::ValueId(graph::GraphBuilder&, const std::vector<graph::ValueId>&)>;

struct GradientOptions {
  double low = -2, high = 2;  // of made-up inputs
  double step = 1e-5;
  double tolerance = 1e-6;          // of the difference, relative to 1 + |gradient|
  bool needs_extents = false;       // the rule refuses symbols
  bool known_extents_only = false;  // the graph itself cannot be built of symbols
  std::vector<std::size_t> batched =
      {};  // inputs whose first extent is a batch: once more with that open alone
};

// Inputs of these shapes, f64. Every element of every input's gradient is checked, with a random gradient
// flowing into y; then once more with the extents known only as symbols.
// Disagreement is reported as GoogleTest failures.
void check_gradient(const std::vector<Shape>& shapes, const Build& build,
                    const GradientOptions& options = {});

// A constant of f64 in `shape`, drawn from [low, high].
Tensor random_doubles(const Shape& shape, uint32_t seed, double low = -2, double high = 2);

}  // namespace hone::gradients
