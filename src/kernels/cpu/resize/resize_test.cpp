#include "kernels/cpu/resize/resize.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cpu/test_values.h"

namespace hone::kernels {
namespace {

int64_t position(const ResizeDesc& d, const Shape& spatial, int64_t n, int64_t c, int64_t p) {
  const int64_t size = element_count(spatial);
  const int64_t block = d.layout == Layout::kBlocked16 ? 16 : d.layout == Layout::kBlocked8 ? 8 : 0;
  if (block > 0) return ((n * ((d.channels + block - 1) / block) + c / block) * size + p) * block + c % block;
  return d.layout == Layout::kPlain ? (n * d.channels + c) * size + p : (n * size + p) * d.channels + c;
}

// Source coordinate by the ONNX formulas.
double coordinate(const ResizeDesc& d, std::size_t axis, int64_t i) {
  const double in = static_cast<double>(d.in_spatial[axis]), out = static_cast<double>(d.out_spatial[axis]);
  const double x = static_cast<double>(i), scale = out / in;
  if (d.coordinates == ResizeCoordinates::kAlignCorners) return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (d.coordinates == ResizeCoordinates::kAsymmetric) return x / scale;
  if (d.coordinates == ResizeCoordinates::kPytorchHalfPixel && out == 1) return 0;
  return (x + 0.5) / scale - 0.5;
}

void check(const ResizeDesc& d) {
  Shape in_shape = {d.batch, d.channels}, out_shape = in_shape;
  in_shape.insert(in_shape.end(), d.in_spatial.begin(), d.in_spatial.end());
  out_shape.insert(out_shape.end(), d.out_spatial.begin(), d.out_spatial.end());
  std::vector<float> in(static_cast<std::size_t>(storage_elements(in_shape, d.layout)));
  std::vector<float> out(static_cast<std::size_t>(storage_elements(out_shape, d.layout)), NAN);
  std::mt19937 random(1);
  for (float& v : in) v = static_cast<float>(random() % 1000) / 500 - 1;
  const Result<Resize> kernel = Resize::create(d);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<CacheLine> scratch(kernel->scratch_bytes() / 64 + 1);
  std::fill_n(reinterpret_cast<unsigned char*>(scratch.data()), scratch.size() * 64, 0xFF);
  kernel->execute(in.data(), out.data(), scratch.data());
  const std::size_t rank = d.in_spatial.size();
  const auto value = [&](int64_t n, int64_t c, const std::vector<int64_t>& at) {
    int64_t p = 0;
    for (std::size_t a = 0; a < rank; ++a) {
      p = p * d.in_spatial[a] + std::clamp<int64_t>(at[a], 0, d.in_spatial[a] - 1);
    }
    return static_cast<double>(in[static_cast<std::size_t>(position(d, d.in_spatial, n, c, p))]);
  };
  for (int64_t flat = 0; flat < element_count(out_shape); ++flat) {
    const int64_t size = element_count(d.out_spatial);
    const int64_t p = flat % size, c = flat / size % d.channels, n = flat / size / d.channels;
    std::vector<double> x(rank);
    int64_t rest = p;
    for (std::size_t a = rank; a-- > 0; rest /= d.out_spatial[a])
      x[a] = coordinate(d, a, rest % d.out_spatial[a]);
    double exact = 0;
    for (int corner = 0; corner < (1 << rank); ++corner) {
      std::vector<int64_t> at(rank);
      double weight = 1;
      for (std::size_t a = 0; a < rank; ++a) {
        const bool high = (corner >> a & 1) != 0;
        if (d.mode == ResizeMode::kNearest) {
          const double r = d.rounding == ResizeRounding::kFloor ? std::floor(x[a]) : std::ceil(x[a] - 0.5);
          at[a] = static_cast<int64_t>(r);
          weight *= high ? 0 : 1;
        } else {
          const double clamped = std::clamp(x[a], 0.0, static_cast<double>(d.in_spatial[a] - 1));
          at[a] = static_cast<int64_t>(clamped) + (high ? 1 : 0);
          const double part = clamped - std::floor(clamped);
          weight *= high ? part : 1 - part;
        }
      }
      if (weight != 0) exact += weight * value(n, c, at);
    }
    ASSERT_NEAR(static_cast<double>(out[static_cast<std::size_t>(position(d, d.out_spatial, n, c, p))]),
                exact, 1e-5)
        << "at " << flat << " of " << shape_text(out_shape) << " from " << shape_text(in_shape);
  }
}

TEST(Resize, MatchesTheFormulasInEveryLayout) {
  using C = ResizeCoordinates;
  for (Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked8, Layout::kBlocked16}) {
    for (ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear}) {
      for (C coordinates : {C::kHalfPixel, C::kAlignCorners, C::kAsymmetric, C::kPytorchHalfPixel}) {
        const auto run = [&](Shape in, Shape out) {
          check({.batch = 2,
                 .channels = 21,
                 .layout = layout,
                 .in_spatial = in,
                 .out_spatial = out,
                 .mode = mode,
                 .coordinates = coordinates,
                 .rounding = ResizeRounding::kFloor});
        };
        run({5}, {13});
        run({4, 5}, {8, 10});
        run({9, 40}, {5, 17});
        run({3, 3}, {1, 1});
        run({2, 3, 4}, {4, 5, 9});
      }
    }
  }
  check({.batch = 1, .channels = 3, .in_spatial = {6, 6}, .out_spatial = {9, 4}});
}

TEST(Resize, RefusesWhatItCannotDo) {
  EXPECT_FALSE(Resize::create({.in_spatial = {}, .out_spatial = {}}).ok());
  EXPECT_FALSE(Resize::create({.in_spatial = {0}, .out_spatial = {4}}).ok());
  EXPECT_FALSE(Resize::create({.in_spatial = {2, 2, 2, 2}, .out_spatial = {4, 4, 4, 4}}).ok());
}

}  // namespace
}  // namespace hone::kernels
