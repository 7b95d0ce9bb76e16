#include "data/synthetic/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "core/philox.h"

namespace hone::data {
namespace {

struct Point {
  double x = 0, y = 0;
};
using Stroke = std::vector<Point>;

constexpr int64_t kClasses = 10;
constexpr int64_t kPixelsAtOnce = 7;  // of a row, that share the search for the strokes they may lie on

// Part of an ellipse, angles in degrees, 0 to the right and growing downwards.
Stroke arc(Point centre, double rx, double ry, double from, double to) {
  constexpr int kParts = 14;
  Stroke stroke;
  for (int i = 0; i <= kParts; ++i) {
    const double angle = (from + (to - from) * i / kParts) * std::numbers::pi / 180;
    stroke.push_back({centre.x + rx * std::cos(angle), centre.y + ry * std::sin(angle)});
  }
  return stroke;
}

Stroke joined(Stroke first, const Stroke& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// In a box from (-1, -1) above left to (1, 1).
std::vector<Stroke> strokes_of(int64_t digit) {
  switch (digit) {
    case 0:
      return {arc({0, 0}, 0.6, 0.9, 0, 360)};
    case 1:
      return {{{-0.35, -0.5}, {0.05, -0.9}, {0.05, 0.9}}};
    case 2:
      return {joined(arc({0, -0.4}, 0.55, 0.5, 190, 390), {{-0.6, 0.9}, {0.65, 0.9}})};
    case 3:
      return {joined(arc({0, -0.45}, 0.5, 0.45, 200, 450), arc({0, 0.42}, 0.55, 0.48, 270, 520))};
    case 4:
      return {{{0.35, 0.9}, {0.35, -0.9}, {-0.6, 0.35}, {0.7, 0.35}}};
    case 5:
      return {joined({{0.55, -0.9}, {-0.45, -0.9}, {-0.5, -0.1}}, arc({-0.02, 0.33}, 0.58, 0.56, 230, 510))};
    case 6:
      return {joined({{0.4, -0.9}, {-0.2, -0.3}}, arc({0, 0.4}, 0.55, 0.5, 200, 560))};
    case 7:
      return {{{-0.6, -0.9}, {0.6, -0.9}, {-0.1, 0.9}}};
    case 8:
      return {arc({0, -0.45}, 0.45, 0.43, 0, 360), arc({0, 0.44}, 0.55, 0.46, 0, 360)};
    default:
      return {joined(arc({0, -0.4}, 0.55, 0.5, 0, 360), {{0.55, -0.4}, {0.35, 0.9}})};
  }
}

double squared_distance_to(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double length = dx * dx + dy * dy;
  const double along = length == 0 ? 0 : std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0);
  const double across_x = p.x - a.x - along * dx, across_y = p.y - a.y - along * dy;
  return across_x * across_x + across_y * across_y;
}

// A straight part of a stroke, and the box beyond which it leaves no ink.
struct Segment {
  Point a, b;
  Point low, high;
};

std::vector<Segment> segments_of(int64_t digit, double reach) {
  std::vector<Segment> segments;
  for (const Stroke& stroke : strokes_of(digit)) {
    for (std::size_t i = 1; i < stroke.size(); ++i) {
      const Point a = stroke[i - 1], b = stroke[i];
      segments.push_back({a,
                          b,
                          {std::min(a.x, b.x) - reach, std::min(a.y, b.y) - reach},
                          {std::max(a.x, b.x) + reach, std::max(a.y, b.y) + reach}});
    }
  }
  return segments;
}

// To `near`, those whose box meets the one that p and q are opposite corners of.
void find_near(Point p, Point q, std::span<const Segment> segments, std::vector<Segment>& near) {
  near.clear();
  std::ranges::copy_if(segments, std::back_inserter(near), [&](const Segment& s) {
    return std::max(p.x, q.x) >= s.low.x && std::min(p.x, q.x) <= s.high.x && std::max(p.y, q.y) >= s.low.y &&
           std::min(p.y, q.y) <= s.high.y;
  });
}

// To the nearest of them; the largest number where there is none.
double squared_distance_to(Point p, std::span<const Segment> segments) {
  double nearest = std::numeric_limits<double>::max();
  for (const Segment& s : segments) nearest = std::min(nearest, squared_distance_to(p, s.a, s.b));
  return nearest;
}

class Digits final : public Dataset {
 public:
  explicit Digits(const DigitsOptions& options)
      : options_(options),
        fields_({{"image", DType::kF32, {1, options.side, options.side}}, {"label", DType::kI64, {}}}) {}

  std::span<const Field> fields() const override { return fields_; }
  int64_t size() const override { return options_.samples; }
  std::string name_of(int64_t index) const override { return fmt::format("synthetic digit {}", index); }

  Result<Sample> read(int64_t index) const override {
    const Philox random(options_.seed, static_cast<uint64_t>(index));
    // Every class as often in any stretch of ten, so that small parts of the data have all of them.
    const int64_t digit = index % kClasses;
    const auto between = [&](uint64_t number, double low, double high) {
      return low + (high - low) * random.uniform(number);
    };
    const double turn = between(0, -0.25, 0.25), slant = between(1, -0.35, 0.35);
    const double cosine = std::cos(turn), sine = std::sin(turn);
    const double wide = between(2, 0.75, 1.1), high = between(3, 0.8, 1.1);
    const Point shift{between(4, -0.2, 0.2), between(5, -0.15, 0.15)};
    const double pen = between(6, 0.07, 0.17), ink = between(7, 0.75, 1);
    Tensor image(DType::kF32, {1, options_.side, options_.side});
    const std::span<float> pixels = image.as<float>();
    const double scale = 2.6 / static_cast<double>(options_.side);  // the box fills most of the picture
    const auto place_of = [&](int64_t row, int64_t column) {  // of a pixel's middle, in the strokes' box
      const double u = (static_cast<double>(column) + 0.5) * scale - 1.3 - shift.x;
      const double v = (static_cast<double>(row) + 0.5) * scale - 1.3 - shift.y;
      Point p{cosine * u + sine * v, cosine * v - sine * u};
      p.x = (p.x + slant * p.y) / wide;
      p.y /= high;
      return p;
    };
    const std::vector<Segment> segments = segments_of(digit, pen + scale);
    std::vector<Segment> near;
    for (int64_t row = 0; row < options_.side; ++row) {
      for (int64_t column = 0; column < options_.side; ++column) {
        if (column % kPixelsAtOnce == 0)
          find_near(place_of(row, column), place_of(row, column + kPixelsAtOnce - 1), segments, near);
        const double distance = std::sqrt(squared_distance_to(place_of(row, column), near));
        const double covered = std::clamp((pen - distance) / scale + 0.5, 0.0, 1.0);
        const auto at = static_cast<std::size_t>(row * options_.side + column);
        const double noise = options_.noise * random.normal(16 + at);
        pixels[at] = static_cast<float>(ink * covered + noise);
      }
    }
    return Sample{std::move(image), Tensor::scalar_i64(digit)};
  }

 private:
  DigitsOptions options_;
  std::vector<Field> fields_;
};

}  // namespace

Result<std::shared_ptr<const Dataset>> make_digits(const DigitsOptions& options) {
  if (options.samples < 1 || options.side < 8 || options.side > 1024)
    return invalid(fmt::format("digits: {} samples of side {}; at least 1, of 8 to 1024 pixels",
                               options.samples, options.side));
  return std::shared_ptr<const Dataset>(std::make_shared<Digits>(options));
}

}  // namespace hone::data
