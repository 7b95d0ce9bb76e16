#include "data/augment/placement.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/core.h>

#include "data/augment/steps.h"

namespace hone::data {
namespace {

// The cubic B-spline's weights of four neighbouring control points at `t` of [0, 1) between the middle two.
std::array<float, 4> spline_weights(double t) {
  const double s = 1 - t;
  return {static_cast<float>(s * s * s / 6), static_cast<float>((3 * t * t * t - 6 * t * t + 4) / 6),
          static_cast<float>((3 * s * s * s - 6 * s * s + 4) / 6), static_cast<float>(t * t * t / 6)};
}

// The mean over a cell of the weights' squared sum, in two dimensions its square: what smoothing leaves of the control
// points' variance.
constexpr double kSplineGain = 151.0 / 315.0;

void draw_bend(SmoothPlacement& placement, const AugmentOptions& options, const SampleRandom& random,
               int64_t height, int64_t width) {
  placement.cell = std::max<int64_t>(2, std::llround(options.elastic_cell));
  placement.columns = (width + placement.cell - 1) / placement.cell + 3;
  placement.rows = (height + placement.cell - 1) / placement.cell + 3;
  const auto count = static_cast<std::size_t>(placement.columns * placement.rows);
  // `elastic` is the length of a displacement: half of its square along each axis.
  const double deviation = options.elastic / kSplineGain / std::numbers::sqrt2;
  double most = 0;
  for (std::vector<float>* bend : {&placement.bend_x, &placement.bend_y}) {
    bend->resize(count);
    const uint64_t first = bend == &placement.bend_x ? 0 : count;
    for (std::size_t i = 0; i < count; ++i) {
      const double value = std::clamp(random.normal(kElasticStep, first + i), -4.0, 4.0) * deviation;
      (*bend)[i] = static_cast<float>(value);
      most = std::max(most, std::abs(value));
    }
  }
  placement.most_bend = most;
}

// One of the eight ways to lay a rectangle onto its like.
struct Turn {
  bool transposed = false, flip_y = false, flip_x = false;
};

Turn draw_turn(const AugmentOptions& options, const SampleRandom& random) {
  Turn turn;
  if (options.quarter_turns) {
    const auto quarters = static_cast<int>(random.uniform(kTurnStep, 0) * 4);
    turn.transposed = quarters % 2 == 1;
    turn.flip_y = quarters == 1 || quarters == 2;
    turn.flip_x = quarters >= 2;
  }
  if (options.flip_horizontal && random.uniform(kFlipStep, 0) < 0.5) turn.flip_x = !turn.flip_x;
  if (options.flip_vertical && random.uniform(kFlipStep, 1) < 0.5) turn.flip_y = !turn.flip_y;
  return turn;
}

// What was cut: in the middle, or anywhere in the image.
Result<Window> draw_window(const AugmentOptions& options, const SampleRandom& random, int64_t height,
                           int64_t width) {
  Window window{0, 0, height, width};
  if (options.crop[0] == 0) return window;
  if (!options.pad && (height < options.crop[0] || width < options.crop[1]))
    return invalid(
        fmt::format("the image is {} x {} pixels, smaller than the crop of {} x {}; crop less, or let small "
                    "images be padded",
                    width, height, options.crop[1], options.crop[0]));
  const auto draw = [&](int64_t extent, int64_t part, uint64_t number) {
    const int64_t room = extent - part;
    if (room <= 0 || !options.random_crop) return room / 2 - (room < 0 && room % 2 != 0);
    return static_cast<int64_t>(random.uniform(kCropStep, number) * static_cast<double>(room + 1));
  };
  window.height = options.crop[0];
  window.width = options.crop[1];
  window.y = draw(height, window.height, 0);
  window.x = draw(width, window.width, 1);
  return window;
}

// From the batch's pixels to those of the image: turned and scaled around the middle of both.
SmoothPlacement smooth_placement(const Window& window, const Turn& turn, double angle, double scale,
                                 int64_t height, int64_t width) {
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const double mirror_x = turn.flip_x ? -1 : 1, mirror_y = turn.flip_y ? -1 : 1;
  // Along the image's axes: how far one pixel of the batch reaches.
  const int64_t across = turn.transposed ? height : width, down = turn.transposed ? width : height;
  const double step_x = static_cast<double>(window.width) / static_cast<double>(across) / scale * mirror_x;
  const double step_y = static_cast<double>(window.height) / static_cast<double>(down) / scale * mirror_y;
  SmoothPlacement placement;
  // Rotation of the image's axes, after the turn: (x, y) of the batch → (u, v) → (u', v').
  const double from_u = turn.transposed ? 0 : step_x,
               from_v = turn.transposed ? step_x : 0;  // of x' = … u + … v
  const double to_u = turn.transposed ? step_y : 0, to_v = turn.transposed ? 0 : step_y;
  placement.matrix = {cosine * from_u - sine * to_u, cosine * from_v - sine * to_v,
                      sine * from_u + cosine * to_u, sine * from_v + cosine * to_v};
  const double middle_x = static_cast<double>(width - 1) / 2, middle_y = static_cast<double>(height - 1) / 2;
  const auto& m = placement.matrix;
  placement.shift = {static_cast<double>(window.x) + static_cast<double>(window.width - 1) / 2 -
                         (m[0] * middle_x + m[1] * middle_y),
                     static_cast<double>(window.y) + static_cast<double>(window.height - 1) / 2 -
                         (m[2] * middle_x + m[3] * middle_y)};
  return placement;
}

}  // namespace

std::array<int64_t, 2> output_size(const AugmentOptions& options, int64_t height, int64_t width) {
  if (options.resize[0] > 0) return options.resize;
  if (options.crop[0] > 0) return options.crop;
  return {height, width};
}

Result<Placement> place_in(const AugmentOptions& options, const SampleRandom& random, int64_t height,
                           int64_t width) {
  HONE_ASSIGN(const Window window, draw_window(options, random, height, width));
  if (options.quarter_turns && window.height != window.width)
    return invalid(
        fmt::format("quarter turns of {} x {} pixels: what is turned must be square; crop it to a square, or "
                    "flip instead",
                    window.width, window.height));
  const auto [out_height, out_width] = output_size(options, height, width);
  const Turn turn = draw_turn(options, random);
  const double angle = random.uniform(kRotateStep, 0, -1, 1) * options.rotate * std::numbers::pi / 180;
  const double scale = std::pow(1 + options.scale, random.uniform(kScaleStep, 0, -1, 1));
  Placement placement{out_height, out_width, {}, {}};
  const bool same_size = out_height == window.height && out_width == window.width;
  if (options.rotate == 0 && options.scale == 0 && options.elastic == 0 && same_size) {
    placement.exact = ExactPlacement{window, turn.transposed, turn.flip_y, turn.flip_x};
    return placement;
  }
  placement.smooth = smooth_placement(window, turn, angle, scale, out_height, out_width);
  if (options.elastic > 0) draw_bend(placement.smooth, options, random, out_height, out_width);
  return placement;
}

namespace {

// Adds the bend's row `y` to points: along x, the control points of a cell are four numbers.
class BendRows {
 public:
  BendRows(const SmoothPlacement& placement, int64_t width)
      : placement_(placement), width_(width), column_(static_cast<std::size_t>(placement.columns)) {
    for (int64_t i = 0; i < placement.cell; ++i) {
      const auto weights = spline_weights(static_cast<double>(i) / static_cast<double>(placement.cell));
      for (std::size_t k = 0; k < 4; ++k) weights_[k].push_back(weights[k]);
    }
  }

  void add(const std::vector<float>& bend, int64_t y, float* to) {
    const int64_t row = y / placement_.cell;
    const auto down = static_cast<std::size_t>(y % placement_.cell);
    const float* const first = bend.data() + row * placement_.columns;
    for (int64_t c = 0; c < placement_.columns; ++c) {
      float sum = 0;
      for (int64_t k = 0; k < 4; ++k)
        sum += weights_[static_cast<std::size_t>(k)][down] * first[k * placement_.columns + c];
      column_[static_cast<std::size_t>(c)] = sum;
    }
    for (int64_t x = 0; x < width_; x += placement_.cell) {
      const float* const points = column_.data() + x / placement_.cell;
      const int64_t count = std::min(placement_.cell, width_ - x);
      for (int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        to[x + i] += points[0] * weights_[0][at] + points[1] * weights_[1][at] + points[2] * weights_[2][at] +
                     points[3] * weights_[3][at];
      }
    }
  }

 private:
  const SmoothPlacement& placement_;
  int64_t width_;
  std::array<std::vector<float>, 4> weights_;
  std::vector<float> column_;
};

}  // namespace

Points points_of(const SmoothPlacement& placement, int64_t height, int64_t width) {
  // The corners bound a linear map; the bend adds its most.
  const auto& m = placement.matrix;
  double low_x = 1e30, high_x = -1e30, low_y = 1e30, high_y = -1e30;
  for (const int64_t cy : {int64_t{0}, height - 1})
    for (const int64_t cx : {int64_t{0}, width - 1}) {
      const double x = m[0] * static_cast<double>(cx) + m[1] * static_cast<double>(cy) + placement.shift[0];
      const double y = m[2] * static_cast<double>(cx) + m[3] * static_cast<double>(cy) + placement.shift[1];
      low_x = std::min(low_x, x), high_x = std::max(high_x, x);
      low_y = std::min(low_y, y), high_y = std::max(high_y, y);
    }
  Points points;
  points.window.x = static_cast<int64_t>(std::floor(low_x - placement.most_bend)) - 1;
  points.window.y = static_cast<int64_t>(std::floor(low_y - placement.most_bend)) - 1;
  points.window.width = static_cast<int64_t>(std::ceil(high_x + placement.most_bend)) + 2 - points.window.x;
  points.window.height = static_cast<int64_t>(std::ceil(high_y + placement.most_bend)) + 2 - points.window.y;

  points.x.resize(static_cast<std::size_t>(height * width));
  points.y.resize(points.x.size());
  BendRows bend(placement, placement.cell > 0 ? width : 0);
  for (int64_t y = 0; y < height; ++y) {
    float* const to_x = points.x.data() + y * width;
    float* const to_y = points.y.data() + y * width;
    const auto dy = static_cast<double>(y);
    const auto start_x =
        static_cast<float>(m[1] * dy + placement.shift[0] - static_cast<double>(points.window.x));
    const auto start_y =
        static_cast<float>(m[3] * dy + placement.shift[1] - static_cast<double>(points.window.y));
    const auto step_x = static_cast<float>(m[0]), step_y = static_cast<float>(m[2]);
    for (int64_t x = 0; x < width; ++x) {
      to_x[x] = start_x + step_x * static_cast<float>(x);
      to_y[x] = start_y + step_y * static_cast<float>(x);
    }
    if (placement.cell > 0) {
      bend.add(placement.bend_x, y, to_x);
      bend.add(placement.bend_y, y, to_y);
    }
  }
  return points;
}

}  // namespace hone::data
