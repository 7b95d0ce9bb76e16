// How products and convolutions of f32 multiply, where that is the device's to choose: attribute "math" of MatMul, Gemm, Conv and
// ConvTranspose. "tf32": their operands may be rounded to 10 bits of mantissa, with f32's range; sums stay f32. It is a
// permission, which a provider without such kernels ignores, as everybody does where the operands are of another type: the
// interpreter, the oracle, computes as exactly with it as without.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace hone::graph {

inline constexpr std::string_view kProductMath = "math";
inline constexpr std::string_view kTf32Math = "tf32";

// Whether the operator has that attribute.
bool takes_tf32(const Node& node);
// Whether the node, or the product that its group begins with, may round operands of f32 to tf32.
bool may_use_tf32(const Node& node);
void allow_tf32(Node& node);

}  // namespace hone::graph
