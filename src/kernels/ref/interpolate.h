// Reading an image between its pixels, for deformable convolution and GridSample.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace hone::kernels::ref {

// Multilinear interpolation of `image` (row-major, `shape`) at `point`, one coordinate an axis in pixels.
// `pixel(axis, i)` maps a pixel number to one inside the axis, or to -1 for one that reads as zero.
template <typename Pixel>
double interpolate_linear(const double* image, std::span<const int64_t> shape, std::span<const double> point,
                          Pixel pixel) {
  double sum = 0;
  const std::size_t corners = std::size_t{1} << shape.size();
  for (std::size_t corner = 0; corner < corners; ++corner) {
    double weight = 1;
    int64_t at = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const double below = std::floor(point[axis]);
      const double part = point[axis] - below;
      const bool upper = (corner >> axis & 1U) != 0;
      weight *= upper ? part : 1 - part;
      const int64_t i = pixel(axis, static_cast<int64_t>(below) + (upper ? 1 : 0));
      inside = inside && i >= 0;
      at = at * shape[axis] + i;
    }
    if (inside && weight != 0) sum += weight * image[at];
  }
  return sum;
}

// The weights of the pixels floor(x) - 1 … floor(x) + 2 in cubic convolution (Keys 1981), x - floor(x) =
// part.
inline void cubic_weights(double part, double a, double weights[4]) {
  const auto near = [a](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };       // |x| ≤ 1
  const auto far = [a](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };  // 1 < |x| < 2
  weights[0] = far(part + 1);
  weights[1] = near(part);
  weights[2] = near(1 - part);
  weights[3] = far(2 - part);
}

// The derivatives of those weights by `part`.
inline void cubic_slopes(double part, double a, double slopes[4]) {
  const auto near = [a](double x) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; };
  const auto far = [a](double x) { return (3 * a * x - 10 * a) * x + 8 * a; };
  slopes[0] = far(part + 1);
  slopes[1] = near(part);
  slopes[2] = -near(1 - part);
  slopes[3] = -far(2 - part);
}

}  // namespace hone::kernels::ref
