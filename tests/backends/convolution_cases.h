// Convolutions that every provider's kernels are compared with the reference on.
#pragma once

#include <string>
#include <vector>

#include "tests/backends/compare.h"

#include "core/attributes.h"
#include "core/shape.h"
#include "graph/builder.h"

namespace hone::backends {

struct ConvCase {
  Shape input, weights;
  Attributes attributes;
  bool bias = true;
  std::string op = "Conv";
};

const std::vector<ConvCase>& convolution_cases();
std::string text(const ConvCase& c);
// The convolution of `x` by constant weights of its type; those are rounded to `rounded` first, where it is given.
graph::ValueId conv(graph::GraphBuilder& b, const ConvCase& c, graph::ValueId x,
                    DType rounded = DType::kUndefined);

}  // namespace hone::backends
