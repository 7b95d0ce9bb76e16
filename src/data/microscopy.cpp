#include "data/microscopy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include <fmt/core.h>

#include "core/philox.h"

namespace hone::data {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kFullScale = 1.5;  // of the camera, relative to a bright cell: where it saturates

// Streams of the generator, so that more noise never moves a cell.
enum Stream : uint64_t { kCells, kBackground, kNoise, kStreams };

// Numbers of one stream, one after the other.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t stream) : generator_(seed, stream) {}
  double uniform(double low, double high) { return low + (high - low) * generator_.uniform(next_++); }
  double normal() { return generator_.normal(next_++); }

 private:
  Philox generator_;
  uint64_t next_ = 0;
};

struct Harmonic {
  double amplitude = 0, phase = 0;
};

struct Spot {
  double x = 0, y = 0, size = 1, brightness = 0;  // place and size in radii of the cell
};

struct Cell {
  double x = 0, y = 0, radius = 1;
  double elongation = 1, angle = 0;  // an ellipse …
  std::array<Harmonic, 4> outline;   // … whose radius varies with the angle
  double brightness = 1;
  std::array<Spot, 8> spots;  // what is inside: brighter and darker, soft
};

Cell draw_cell(Draws& draws, double mean_radius, const MicroscopyOptions& options) {
  Cell cell;
  cell.x = draws.uniform(0, static_cast<double>(options.width));
  cell.y = draws.uniform(0, static_cast<double>(options.height));
  cell.radius = mean_radius * std::exp(std::clamp(0.25 * draws.normal(), -0.6, 0.6));
  cell.elongation = draws.uniform(1, 1.5);
  cell.angle = draws.uniform(0, kTurn);
  for (std::size_t k = 0; k < cell.outline.size(); ++k)
    cell.outline[k] = {draws.uniform(0, 0.12 / (1.0 + static_cast<double>(k))), draws.uniform(0, kTurn)};
  cell.brightness = draws.uniform(0.45, 1.1);
  for (Spot& spot : cell.spots)
    spot = {draws.uniform(-0.8, 0.8), draws.uniform(-0.8, 0.8), draws.uniform(0.12, 0.35),
            draws.uniform(-0.3, 0.4)};
  return cell;
}

// Cells at random places that keep a little distance; places that are taken are given up after some tries.
std::vector<Cell> place_cells(const MicroscopyOptions& options, double mean_radius, uint64_t image) {
  const double area = static_cast<double>(options.height * options.width);
  const auto wanted = static_cast<std::size_t>(
      std::max(1.0, std::round(options.covered * area / (std::numbers::pi * mean_radius * mean_radius))));
  Draws draws(options.seed, image * kStreams + kCells);
  std::vector<Cell> cells;
  for (std::size_t tries = 0; cells.size() < wanted && tries < 30 * wanted; ++tries) {
    const Cell cell = draw_cell(draws, mean_radius, options);
    const bool free = std::none_of(cells.begin(), cells.end(), [&](const Cell& other) {
      return std::hypot(cell.x - other.x, cell.y - other.y) < 1.15 * (cell.radius + other.radius);
    });
    if (free) cells.push_back(cell);
  }
  return cells;
}

// Distance from the outline in pixels, negative inside; exact enough near the outline, which is all that is
// used.
double distance_from_outline(const Cell& cell, double x, double y, double growth) {
  const double dx = x - cell.x, dy = y - cell.y;
  const double along = dx * std::cos(cell.angle) + dy * std::sin(cell.angle);
  const double across = dy * std::cos(cell.angle) - dx * std::sin(cell.angle);
  const double stretch = std::sqrt(cell.elongation);
  const double distance = std::hypot(along / stretch, across * stretch);
  const double direction = std::atan2(across, along);
  double radius = cell.radius * growth;
  for (std::size_t k = 0; k < cell.outline.size(); ++k)
    radius *= 1 + cell.outline[k].amplitude *
                      std::cos(static_cast<double>(k + 2) * direction + cell.outline[k].phase);
  return distance - radius;
}

// Brightness at a place inside of a cell, 1 on average.
double texture(const Cell& cell, double x, double y) {
  double level = 1;
  for (const Spot& spot : cell.spots) {
    const double dx = (x - cell.x) / cell.radius - spot.x, dy = (y - cell.y) / cell.radius - spot.y;
    level += spot.brightness * std::exp(-(dx * dx + dy * dy) / (2 * spot.size * spot.size));
  }
  return level;
}

// One channel of one image while it is being made; values relative to a bright cell.
struct Plane {
  int64_t height, width;
  std::vector<double> light;

  Plane(int64_t h, int64_t w) : height(h), width(w), light(static_cast<std::size_t>(h * w), 0.0) {}
  double& at(int64_t y, int64_t x) { return light[static_cast<std::size_t>(y * width + x)]; }
};

void add_background(Plane& plane, const MicroscopyOptions& options, uint64_t stream) {
  Draws draws(options.seed, stream);
  struct Wave {
    double x, y, phase;
  };
  std::array<Wave, 3> waves;  // slower than the image is wide: stray light, uneven stain
  for (Wave& wave : waves) wave = {draws.uniform(-1, 1), draws.uniform(-1, 1), draws.uniform(0, kTurn)};
  for (int64_t y = 0; y < plane.height; ++y) {
    for (int64_t x = 0; x < plane.width; ++x) {
      const double u = static_cast<double>(x) / static_cast<double>(plane.width);
      const double v = static_cast<double>(y) / static_cast<double>(plane.height);
      double level = 1;
      for (const Wave& wave : waves) level += 0.2 * std::sin(kTurn * (wave.x * u + wave.y * v) + wave.phase);
      plane.at(y, x) += options.background * level;
    }
  }
}

// Adds a cell; marks its inside in `mask`, if there is one.
void add_cell(Plane& plane, const Cell& cell, double growth, uint8_t* mask) {
  const double reach = 1.9 * cell.radius * growth + 4;
  const auto first = [&](double center) {
    return std::max<int64_t>(0, static_cast<int64_t>(center - reach));
  };
  const auto last = [&](double center, int64_t size) {
    return std::min<int64_t>(size, static_cast<int64_t>(center + reach) + 1);
  };
  const double softness = std::max(0.6, 0.06 * cell.radius);  // point spread, pixels
  for (int64_t y = first(cell.y); y < last(cell.y, plane.height); ++y) {
    for (int64_t x = first(cell.x); x < last(cell.x, plane.width); ++x) {
      const double px = static_cast<double>(x), py = static_cast<double>(y);
      const double distance = distance_from_outline(cell, px, py, growth);
      plane.at(y, x) +=
          cell.brightness * texture(cell, px, py) / growth / (1 + std::exp(distance / softness));
      if (mask != nullptr && distance < 0) mask[y * plane.width + x] = 1;
    }
  }
}

// Vignetting, photon and camera noise; writes [0, 1].
void expose(Plane& plane, const MicroscopyOptions& options, uint64_t stream, float* out) {
  const Philox noise(options.seed, stream);
  for (int64_t y = 0; y < plane.height; ++y) {
    for (int64_t x = 0; x < plane.width; ++x) {
      const double u = 2 * (static_cast<double>(x) + 0.5) / static_cast<double>(plane.width) - 1;
      const double v = 2 * (static_cast<double>(y) + 0.5) / static_cast<double>(plane.height) - 1;
      const double photons =
          options.photons * plane.at(y, x) * (1 - options.vignetting * (u * u + v * v) / 2);
      const auto index = static_cast<uint64_t>(y * plane.width + x);
      // Shot noise is Poisson's; from some ten photons on the normal distribution with its variance is as
      // good.
      const double deviation = std::sqrt(std::max(0.0, photons) + options.read_noise * options.read_noise);
      const double value = (photons + deviation * noise.normal(index)) / (options.photons * kFullScale);
      out[index] = static_cast<float>(std::clamp(value, 0.0, 1.0));
    }
  }
}

Status check(const MicroscopyOptions& options) {
  const Shape shape = {options.images, options.channels, options.height, options.width};
  HONE_ASSIGN(const int64_t count, checked_element_count(shape));
  if (count == 0 || count > (int64_t{1} << 31))
    return invalid(fmt::format("synthetic microscopy: {} is no size for images", shape_text(shape)));
  if (!(options.covered >= 0 && options.covered <= 1) || !(options.photons > 0) ||
      !(options.read_noise >= 0) || !(options.cell_radius >= 0 && options.cell_radius < 1e6) ||
      !(options.vignetting >= 0 && options.vignetting <= 1))
    return invalid("synthetic microscopy: an option is outside of its range");
  return {};
}

}  // namespace

Result<Microscopy> synthesise_microscopy(const MicroscopyOptions& options) {
  HONE_CHECK(check(options));
  const int64_t pixels = options.height * options.width;
  const double sixteenth = static_cast<double>(std::min(options.height, options.width)) / 16;
  const double radius =
      options.cell_radius > 0 ? std::max(1.0, options.cell_radius) : std::clamp(sixteenth, 3.0, 24.0);
  Microscopy result;
  result.images = Tensor(DType::kF32, {options.images, options.channels, options.height, options.width});
  result.masks = Tensor::zeros(DType::kU8, {options.images, 1, options.height, options.width});
  for (int64_t image = 0; image < options.images; ++image) {
    const std::vector<Cell> cells = place_cells(options, radius, static_cast<uint64_t>(image));
    result.cells += static_cast<int64_t>(cells.size());
    for (int64_t channel = 0; channel < options.channels; ++channel) {
      // Planes count on from the cells' streams, which are one an image.
      const auto plane_number = static_cast<uint64_t>(options.images + image * options.channels + channel);
      const double growth = 1 + 0.25 * static_cast<double>(std::min<int64_t>(channel, 4));
      uint8_t* mask = channel == 0 ? result.masks.as<uint8_t>().data() + image * pixels : nullptr;
      Plane plane(options.height, options.width);
      add_background(plane, options, plane_number * kStreams + kBackground);
      for (const Cell& cell : cells) add_cell(plane, cell, growth, mask);
      float* out = result.images.as<float>().data() + (image * options.channels + channel) * pixels;
      expose(plane, options, plane_number * kStreams + kNoise, out);
    }
  }
  return result;
}

}  // namespace hone::data
