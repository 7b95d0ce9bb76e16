// The equation of Einsum, read once for type inference and kernels.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace hone {

// Labels of axes: letters are their character codes; the axes that an ellipsis stands for are numbered from
// -1 downwards, counted from its last axis, so that equal labels of different operands broadcast as NumPy has
// it.
using EinsumLabels = std::vector<int>;

struct Einsum {
  std::vector<EinsumLabels> operands;  // one label an axis
  EinsumLabels output;
  EinsumLabels summed;  // labels that the output does not have, each once
};

// Reads "ij,jk->ik" for operands of these ranks. Without "->" the output has the ellipsis, then the letters
// that occur once, in alphabetical order.
Result<Einsum> parse_einsum(std::string_view equation, std::span<const int64_t> ranks);

}  // namespace hone
