// Sampling of images: GridSample and AffineGrid. Resize is in resize.cpp, regions of interest in
// detection.cpp.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "kernels/ref/interpolate.h"
#include "kernels/ref/parts.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

enum class SampleMode : uint8_t { kNearest, kLinear, kCubic };
enum class SamplePadding : uint8_t { kZeros, kBorder, kReflection };

struct Sampler {
  Shape image;  // spatial extents
  SampleMode mode = SampleMode::kLinear;
  SamplePadding padding = SamplePadding::kZeros;
  bool align_corners = false;
  bool in_float = true;  // coordinates are computed in f32, as the grid is f32 or narrower

  // From [-1, 1] to pixels.
  double denormalize(double n, std::size_t axis) const {
    const auto extent = static_cast<double>(image[axis]);
    if (in_float) {
      const auto f = static_cast<float>(n);
      const auto length = static_cast<float>(extent);
      return align_corners ? (f + 1) / 2 * (length - 1) : ((f + 1) * length - 1) / 2;
    }
    return align_corners ? (n + 1) / 2 * (extent - 1) : ((n + 1) * extent - 1) / 2;
  }

  // Mirrors a coordinate at the borders of the image until it lies inside.
  double reflect(double x, std::size_t axis) const {
    const double low = align_corners ? 0 : -0.5;
    const double high = static_cast<double>(image[axis]) - (align_corners ? 1 : 0.5);
    const double range = high - low;
    if (range <= 0) return 0;
    if (x >= low && x <= high) return x;
    const double away = x < low ? low - x : x - high;
    const double rest = std::fmod(away, range);
    const bool even = std::fmod(std::floor(away / range), 2) == 0;
    return (x < low) == even ? low + rest : high - rest;
  }

  double place(double x, std::size_t axis) const {
    if (padding == SamplePadding::kBorder) return std::clamp(x, 0.0, static_cast<double>(image[axis]) - 1);
    if (padding == SamplePadding::kReflection) return reflect(x, axis);
    return x;
  }

  // A pixel number that may lie outside, made one inside, or -1.
  int64_t pixel(std::size_t axis, int64_t i) const {
    const int64_t last = image[axis] - 1;
    if (i >= 0 && i <= last) return i;
    if (padding == SamplePadding::kZeros) return -1;
    if (padding == SamplePadding::kBorder) return std::clamp<int64_t>(i, 0, last);
    return std::clamp<int64_t>(static_cast<int64_t>(reflect(static_cast<double>(i), axis)), 0, last);
  }

  double nearest(const double* data, std::span<const double> point) const {
    int64_t at = 0;
    for (std::size_t axis = 0; axis < image.size(); ++axis) {
      const int64_t i = pixel(axis, static_cast<int64_t>(point[axis]));
      if (i < 0) return 0;
      at = at * image[axis] + i;
    }
    return data[at];
  }

  double cubic(const double* data, std::span<const double> point, std::size_t axis, int64_t base) const {
    if (axis == image.size()) return data[base];
    double weights[4];
    const double below = std::floor(point[axis]);
    cubic_weights(point[axis] - below, -0.75, weights);
    double sum = 0;
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t i = pixel(axis, static_cast<int64_t>(below) + k - 1);
      if (i >= 0) sum += weights[k] * cubic(data, point, axis + 1, base * image[axis] + i);
    }
    return sum;
  }

  double sample(const double* data, std::span<const double> point) const {
    if (mode == SampleMode::kNearest) return nearest(data, point);
    if (mode == SampleMode::kCubic) return cubic(data, point, 0, 0);
    return interpolate_linear(data, image, point,
                              [this](std::size_t axis, int64_t i) { return pixel(axis, i); });
  }
};

Result<Sampler> read_sampler(const RefCall& call) {
  Sampler sampler;
  const std::string mode = call.attributes.text("mode", "linear");
  if (mode == "nearest") {
    sampler.mode = SampleMode::kNearest;
  } else if (mode == "cubic") {
    sampler.mode = SampleMode::kCubic;
  } else if (mode != "linear") {
    return unsupported(fmt::format("sampling mode '{}' is not known", mode));
  }
  const std::string padding = call.attributes.text("padding_mode", "zeros");
  if (padding == "border") {
    sampler.padding = SamplePadding::kBorder;
  } else if (padding == "reflection") {
    sampler.padding = SamplePadding::kReflection;
  } else if (padding != "zeros") {
    return unsupported(fmt::format("padding_mode '{}' is not known", padding));
  }
  sampler.align_corners = call.attributes.integer("align_corners", 0) != 0;
  sampler.in_float = call.inputs[1].dtype() != DType::kF64;
  return sampler;
}

Result<std::vector<Tensor>> grid_sample(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& grid = call.inputs[1];
  HONE_CHECK(expect_real(call, x.dtype()));
  HONE_ASSIGN(Sampler sampler, read_sampler(call));
  const int64_t axes = x.rank() - 2;
  if (axes < 1 || grid.rank() != x.rank() || grid.shape()[0] != x.shape()[0] || grid.shape().back() != axes) {
    return invalid(fmt::format("a grid of shape {} does not fit an input of shape {}",
                               shape_text(grid.shape()), shape_text(x.shape())));
  }
  sampler.image.assign(x.shape().begin() + 2, x.shape().end());
  Shape output{x.shape()[0], x.shape()[1]};
  output.insert(output.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  const int64_t pixels = element_count(sampler.image);
  const int64_t points = extent_product(grid.shape(), 1, grid.shape().size() - 1);
  if (pixels == 0 && element_count(output) > 0) return invalid("an empty image cannot be sampled");
  const Wide image = widen(x), where = widen(grid);
  Wide y(static_cast<std::size_t>(element_count(output)));
  Wide point(static_cast<std::size_t>(axes));
  for (int64_t n = 0; n < output[0]; ++n) {
    for (int64_t p = 0; p < points; ++p) {
      for (std::size_t axis = 0; axis < point.size(); ++axis) {
        // The grid names the last axis first.
        const auto at = static_cast<std::size_t>((n * points + p + 1) * axes) - 1 - axis;
        double coordinate = sampler.denormalize(where[at], axis);
        if (sampler.mode == SampleMode::kNearest) coordinate = std::nearbyint(coordinate);
        // Far away (or NaN) is outside all the same; keeps the later conversion to integers in range.
        const double limit = 1e15;
        coordinate = std::isnan(coordinate) ? -limit : std::clamp(coordinate, -limit, limit);
        point[axis] = sampler.place(coordinate, axis);
      }
      for (int64_t c = 0; c < output[1]; ++c) {
        const int64_t plane = n * output[1] + c;
        y[static_cast<std::size_t>(plane * points + p)] =
            sampler.sample(image.data() + plane * pixels, point);
      }
    }
  }
  return one(rounded(x.dtype(), output, std::move(y)));
}

// The grid that GridSample reads, of the affine maps `theta` [N, axes, axes + 1].
Result<std::vector<Tensor>> affine_grid(const RefCall& call) {
  const Tensor& theta = call.inputs[0];
  const std::vector<int64_t> size = call.inputs[1].to_ints();
  if (size.size() != 4 && size.size() != 5) return invalid("size needs 4 values (2-D) or 5 (3-D)");
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  HONE_CHECK(expect_shape(theta, {size[0], axes, axes + 1}, "theta"));
  const bool align = call.attributes.integer("align_corners", 0) != 0;
  Shape output{size[0]};
  output.insert(output.end(), size.begin() + 2, size.end());
  const Shape places(output.begin() + 1, output.end());
  output.push_back(axes);
  HONE_ASSIGN(const int64_t total, checked_element_count(output));
  const Wide matrix = widen(theta);
  Wide y;
  y.reserve(static_cast<std::size_t>(total));
  for (int64_t n = 0; n < size[0] && total > 0; ++n) {
    std::vector<int64_t> place(places.size(), 0);
    do {
      for (int64_t row = 0; row < axes; ++row) {
        const double* m = matrix.data() + (n * axes + row) * (axes + 1);
        double sum = m[axes];
        for (int64_t k = 0; k < axes; ++k) {  // column k multiplies x, y, z: the last axis first
          const auto axis = static_cast<std::size_t>(axes - 1 - k);
          const auto extent = static_cast<double>(places[axis]);
          const auto i = static_cast<double>(place[axis]);
          const double at = align ? (extent > 1 ? 2 * i / (extent - 1) - 1 : -1) : (2 * i + 1) / extent - 1;
          sum += m[k] * at;
        }
        y.push_back(sum);
      }
    } while (next_index(place, places));
  }
  return one(rounded(theta.dtype(), output, std::move(y)));
}

}  // namespace

void add_vision_kernels(RefTable& table) {
  table.add("GridSample", grid_sample);
  table.add("AffineGrid", affine_grid);
  add_resize_kernels(table);
  add_detection_kernels(table);
}

}  // namespace hone::kernels::ref
