// GridSample and its gradients.
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

// The pixels of one axis that a point reads, and what each of them counts.
struct AxisTaps {
  std::size_t count = 0;
  int64_t at[4] = {};     // -1: outside, a zero
  double weight[4] = {};  // of the pixel
  double slope[4] = {};   // the weight's derivative by the coordinate; from the right where there are two
};

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

  // The derivative of denormalize().
  double denormalize_slope(std::size_t axis) const {
    return (static_cast<double>(image[axis]) - (align_corners ? 1 : 0)) / 2;
  }

  double place(double x, std::size_t axis) const {
    if (padding == SamplePadding::kBorder && mode != SampleMode::kCubic)  // a cubic clamps each of its pixels
      return std::clamp(x, 0.0, static_cast<double>(image[axis]) - 1);
    if (padding == SamplePadding::kReflection) return reflect(x, axis);
    return x;
  }

  // The derivative of place(). At the corners of its graph what PyTorch takes (grid_sampler in GridSampler.h): 0 for
  // linear interpolation, whose result stays the same outside, and that of the inside for cubic.
  double place_slope(double x, std::size_t axis) const {
    if (padding == SamplePadding::kZeros) return 1;
    const auto last = static_cast<double>(image[axis]) - 1;
    const bool cubic = mode == SampleMode::kCubic;
    if (padding == SamplePadding::kBorder) return cubic || (x > 0 && x < last) ? 1 : 0;
    const double low = align_corners ? 0 : -0.5;
    const double high = align_corners ? last : last + 0.5;
    if (high <= low) return 0;
    if (const double placed = reflect(x, axis); !cubic && (placed <= 0 || placed >= last)) return 0;
    if (x >= low && x <= high) return 1;
    const bool even = std::fmod(std::floor((x < low ? low - x : x - high) / (high - low)), 2) == 0;
    return even ? -1 : 1;
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

  AxisTaps taps(double x, std::size_t axis) const {
    AxisTaps taps;
    if (mode == SampleMode::kNearest) {
      taps.count = 1;
      taps.at[0] = pixel(axis, static_cast<int64_t>(x));
      taps.weight[0] = 1;
      return taps;
    }
    const double below = std::floor(x);
    const double part = x - below;
    const bool cubic = mode == SampleMode::kCubic;
    taps.count = cubic ? 4 : 2;
    for (std::size_t k = 0; k < taps.count; ++k)
      taps.at[k] = pixel(axis, static_cast<int64_t>(below) + static_cast<int64_t>(k) - (cubic ? 1 : 0));
    if (cubic) {
      cubic_weights(part, -0.75, taps.weight);
      cubic_slopes(part, -0.75, taps.slope);
    } else {
      taps.weight[0] = 1 - part;
      taps.weight[1] = part;
      taps.slope[0] = -1;
      taps.slope[1] = 1;
    }
    return taps;
  }
};

Result<Sampler> read_sampler(const RefCall& call, DType grid) {
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
  sampler.in_float = grid != DType::kF64;
  return sampler;
}

// What is sampled, and where.
struct GridCall {
  Sampler sampler;
  int64_t batch = 0, channels = 0, pixels = 0, points = 0;
  Shape output;
  Wide grid;
};

Result<GridCall> plan_grid(const RefCall& call, const Shape& x, const Tensor& grid) {
  GridCall plan;
  HONE_ASSIGN(plan.sampler, read_sampler(call, grid.dtype()));
  const int64_t axes = static_cast<int64_t>(x.size()) - 2;
  if (axes < 1 || grid.shape().size() != x.size() || grid.shape()[0] != x[0] || grid.shape().back() != axes) {
    return invalid(fmt::format("a grid of shape {} does not fit an input of shape {}",
                               shape_text(grid.shape()), shape_text(x)));
  }
  plan.sampler.image.assign(x.begin() + 2, x.end());
  plan.output = {x[0], x[1]};
  plan.output.insert(plan.output.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  HONE_CHECK(checked_element_count(plan.output));
  plan.batch = x[0];
  plan.channels = x[1];
  plan.pixels = element_count(plan.sampler.image);
  plan.points = extent_product(grid.shape(), 1, grid.shape().size() - 1);
  if (plan.pixels == 0 && element_count(plan.output) > 0) return invalid("an empty image cannot be sampled");
  plan.grid = widen(grid);
  return plan;
}

// One point of the grid in pixels: the coordinates that are read, and their derivatives by the grid's numbers.
struct GridPoint {
  Wide at, slope;
};

// Of point `p` of image `n`.
void read_point(const GridCall& plan, int64_t n, int64_t p, GridPoint& point) {
  const std::size_t axes = plan.sampler.image.size();
  point.at.resize(axes);
  point.slope.resize(axes);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    // The grid names the last axis first.
    const std::size_t from = static_cast<std::size_t>(n * plan.points + p + 1) * axes - 1 - axis;
    double coordinate = plan.sampler.denormalize(plan.grid[from], axis);
    if (plan.sampler.mode == SampleMode::kNearest) coordinate = std::nearbyint(coordinate);
    // Far away (or NaN) is outside all the same; keeps the later conversion to integers in range.
    const double limit = 1e15;
    const bool near = std::abs(coordinate) < limit;
    coordinate = std::isnan(coordinate) ? -limit : std::clamp(coordinate, -limit, limit);
    point.at[axis] = plan.sampler.place(coordinate, axis);
    point.slope[axis] =
        near ? plan.sampler.place_slope(coordinate, axis) * plan.sampler.denormalize_slope(axis) : 0;
  }
}

Result<std::vector<Tensor>> grid_sample(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  HONE_ASSIGN(const GridCall plan, plan_grid(call, x.shape(), call.inputs[1]));
  const Wide image = widen(x);
  Wide y(static_cast<std::size_t>(element_count(plan.output)));
  GridPoint point;
  for (int64_t n = 0; n < plan.batch; ++n) {
    for (int64_t p = 0; p < plan.points; ++p) {
      read_point(plan, n, p, point);
      for (int64_t c = 0; c < plan.channels; ++c) {
        const int64_t plane = n * plan.channels + c;
        y[static_cast<std::size_t>(plane * plan.points + p)] =
            plan.sampler.sample(image.data() + plane * plan.pixels, point.at);
      }
    }
  }
  return one(rounded(x.dtype(), plan.output, std::move(y)));
}

// Calls f(offset of the pixel, taps) for each pixel inside the image that the point reads; tap `taps[i]` along axis i.
template <typename F>
void each_pixel(const Sampler& sampler, std::span<const AxisTaps> axes, F f) {
  std::size_t combinations = 1;
  for (const AxisTaps& axis : axes) combinations *= axis.count;
  std::vector<std::size_t> tap(axes.size());
  for (std::size_t i = 0; i < combinations; ++i) {
    int64_t offset = 0;
    bool inside = true;
    std::size_t rest = i;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      tap[axis] = rest % axes[axis].count;
      rest /= axes[axis].count;
      const int64_t at = axes[axis].at[tap[axis]];
      inside = inside && at >= 0;
      offset = offset * sampler.image[axis] + at;
    }
    if (inside) f(offset, std::span<const std::size_t>(tap));
  }
}

std::vector<AxisTaps> point_taps(const Sampler& sampler, const GridPoint& point) {
  std::vector<AxisTaps> taps;
  for (std::size_t axis = 0; axis < point.at.size(); ++axis)
    taps.push_back(sampler.taps(point.at[axis], axis));
  return taps;
}

// Each pixel gets of a point's gradient what it counted there.
Result<std::vector<Tensor>> grid_sample_gradient(const RefCall& call) {
  const Shape x = call.inputs[1].to_ints();
  HONE_CHECK(make_tensor(call, call.inputs[0].dtype(), x));
  HONE_ASSIGN(const GridCall plan, plan_grid(call, x, call.inputs[2]));
  HONE_CHECK(expect_shape(call.inputs[0], plan.output, "the gradient"));
  const Wide g = widen(call.inputs[0]);
  Wide dx(static_cast<std::size_t>(element_count(x)), 0);
  GridPoint point;
  for (int64_t n = 0; n < plan.batch; ++n) {
    for (int64_t p = 0; p < plan.points; ++p) {
      read_point(plan, n, p, point);
      const std::vector<AxisTaps> axes = point_taps(plan.sampler, point);
      each_pixel(plan.sampler, axes, [&](int64_t offset, std::span<const std::size_t> tap) {
        double weight = 1;
        for (std::size_t axis = 0; axis < axes.size(); ++axis) weight *= axes[axis].weight[tap[axis]];
        for (int64_t plane = n * plan.channels; plane < (n + 1) * plan.channels; ++plane)
          dx[static_cast<std::size_t>(plane * plan.pixels + offset)] +=
              weight * g[static_cast<std::size_t>(plane * plan.points + p)];
      });
    }
  }
  return one(rounded(call.inputs[0].dtype(), x, std::move(dx)));
}

// How a point's results change where it is moved, times their gradients.
Result<std::vector<Tensor>> grid_sample_grid_gradient(const RefCall& call) {
  const Tensor& x = call.inputs[1];
  const Tensor& grid = call.inputs[2];
  HONE_ASSIGN(const GridCall plan, plan_grid(call, x.shape(), grid));
  HONE_CHECK(expect_shape(call.inputs[0], plan.output, "the gradient"));
  const Wide g = widen(call.inputs[0]), image = widen(x);
  Wide dgrid(plan.grid.size(), 0);
  GridPoint point;
  for (int64_t n = 0; n < plan.batch; ++n) {
    for (int64_t p = 0; p < plan.points; ++p) {
      read_point(plan, n, p, point);
      const std::vector<AxisTaps> axes = point_taps(plan.sampler, point);
      double* const moved = dgrid.data() + static_cast<std::size_t>(n * plan.points + p) * axes.size();
      each_pixel(plan.sampler, axes, [&](int64_t offset, std::span<const std::size_t> tap) {
        double flowing = 0;  // of all channels
        for (int64_t plane = n * plan.channels; plane < (n + 1) * plan.channels; ++plane)
          flowing += image[static_cast<std::size_t>(plane * plan.pixels + offset)] *
                     g[static_cast<std::size_t>(plane * plan.points + p)];
        for (std::size_t axis = 0; axis < axes.size(); ++axis) {
          double change = axes[axis].slope[tap[axis]];
          for (std::size_t other = 0; other < axes.size(); ++other)
            if (other != axis) change *= axes[other].weight[tap[other]];
          moved[axes.size() - 1 - axis] += change * flowing;
        }
      });
      for (std::size_t axis = 0; axis < axes.size(); ++axis)
        moved[axes.size() - 1 - axis] *= point.slope[axis];
    }
  }
  return one(rounded(grid.dtype(), grid.shape(), std::move(dgrid)));
}

}  // namespace

void add_grid_sample_kernels(RefTable& table) {
  table.add("GridSample", grid_sample);
  table.add("hone.GridSampleGradient", grid_sample_gradient);
  table.add("hone.GridSampleGridGradient", grid_sample_grid_gradient);
}

}  // namespace hone::kernels::ref
