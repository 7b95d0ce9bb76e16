// What each operator's numbers can stand: the one table that lowering of precision goes by. Frameworks' autocast
// lists are its model (PyTorch's torch.amp, TensorFlow's auto_mixed_precision); where it differs, the row says why.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/graph.h"

namespace hone::passes {

enum class PrecisionRule : uint8_t {
  kNarrow,   // worth a conversion of its inputs: products, whose kernels sum in f32
  kFollows,  // narrow where its inputs come so: it rounds once, and sums, if any, are its kernel's, in f32
  kKeeps,    // f32: sums that it stores, functions that magnify a rounding, what counts or compares
};

struct PrecisionRow {
  std::string_view op;
  PrecisionRule rule = PrecisionRule::kKeeps;
  std::string_view why;  // of kKeeps
  uint32_t operands =
      0xffff'ffff;  // inputs, a bit each, that take the operator's type; the others stay as they are
  // Of kKeeps: the operator that does the same and gives f32 where its first input is narrow, which needs no conversion.
  std::string_view reads = {};
  // Of kFollows: the input whose type the results have. In f32 it keeps the operator there, which then reads the others as
  // they come. kNone: all of them.
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t leads = kNone;
  // Of kFollows, in a training step: f32 where a tensor that comes in f32 is added to one that does not, as types promote in
  // PyTorch. It is what keeps a residual stream in f32 (docs/decisions/0067-residual-sums-in-f32.md).
  bool promotes = false;
};

// The row of the node's operator, or what holds for its class.
PrecisionRow precision_row(const graph::Node& node);

}  // namespace hone::passes
