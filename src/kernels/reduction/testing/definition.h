// What reductions are, in f64 and one number after the other: what tests hold the kernels of CPUs and GPUs to.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/reduction/reduce_desc.h"

namespace hone::kernels {

inline double reduced_by_definition(Reduction op, std::span<const double> values) {
  double sum = 0, squares = 0, sizes = 0, product = 1, most = -INFINITY, least = INFINITY, powers = 0;
  for (const double x : values) {
    sum += x, squares += x * x, sizes += std::abs(x), product *= x;
    most = std::max(most, x), least = std::min(least, x);
  }
  for (const double x : values) powers += std::exp(x - most);
  switch (op) {
    case Reduction::kSum:
      return sum;
    case Reduction::kMean:
      return sum / static_cast<double>(values.size());
    case Reduction::kMax:
      return most;
    case Reduction::kMin:
      return least;
    case Reduction::kProd:
      return product;
    case Reduction::kL1:
      return sizes;
    case Reduction::kL2:
      return std::sqrt(squares);
    case Reduction::kSumSquare:
      return squares;
    case Reduction::kLogSum:
      return std::log(sum);
    case Reduction::kLogSumExp:
      return most + std::log(powers);
  }
  return NAN;
}

}  // namespace hone::kernels
