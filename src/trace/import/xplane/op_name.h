// Where in the program an instruction of XLA belongs, read from the name that the framework gave it:
// "jit(update)/transpose(jvp(block0))/attention/dot_general" is a dot_general of the backward pass of
// block0/attention.
#pragma once

#include <string>
#include <string_view>

#include "trace/trace.h"

namespace hone::trace::xplane {

struct OpPlace {
  std::string module;          // "block0/attention"; empty: the name tells none
  std::string_view primitive;  // "dot_general": what the program called
  Phase phase = Phase::kUnknown;
  bool differentiated = false;  // it is part of a function whose gradient is taken
};

// JAX: names of traced functions and transformations (jit, jvp, transpose, vmap, …) are left out, named scopes
// and Flax modules stay. TensorFlow: "gradient_tape/model/dense/MatMul".
OpPlace place_of_op(std::string_view op_name);

}  // namespace hone::trace::xplane
