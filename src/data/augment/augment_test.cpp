// Augmentation against a plain reference: pixel by pixel in f64, from the same random numbers.
#include "data/augment/augment.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/philox.h"
#include "data/augment/pixels.h"
#include "data/augment/placement.h"
#include "data/augment/region.h"
#include "data/augment/steps.h"

namespace hone::data {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSeed = 11;

// Image [channels, height, width] of any type with random values, a mask of labels 0 to 4.
Sample random_sample(DType dtype, int64_t channels, int64_t height, int64_t width, uint64_t seed = 3) {
  const Philox random(seed);
  Tensor image(dtype, {channels, height, width}), mask(DType::kU8, {1, height, width});
  for (int64_t i = 0; i < image.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double value = random.uniform(static_cast<uint64_t>(i));
    if (dtype == DType::kF32) image.as<float>()[at] = static_cast<float>(value);
    if (dtype == DType::kU8) image.as<uint8_t>()[at] = static_cast<uint8_t>(value * 256);
    if (dtype == DType::kU16) image.as<uint16_t>()[at] = static_cast<uint16_t>(value * 65536);
  }
  for (int64_t i = 0; i < mask.size(); ++i)
    mask.as<uint8_t>()[static_cast<std::size_t>(i)] =
        static_cast<uint8_t>(random.uniform(1'000'000 + static_cast<uint64_t>(i)) * 5);
  return {image, mask};
}

std::vector<Field> fields_of(const Sample& sample) {
  std::vector<Field> fields = {{"image", sample[0].dtype(), sample[0].shape()}};
  if (sample.size() > 1) fields.push_back({"mask", sample[1].dtype(), sample[1].shape()});
  return fields;
}

// What becomes of a sample; outputs are poisoned before.
Sample must_augment(const AugmentOptions& options, const Sample& sample, int64_t epoch = 0) {
  auto transform = make_augmentation(options);
  EXPECT_TRUE(transform.ok()) << transform.error().message;
  const std::vector<Field> fields = fields_of(sample);
  auto made = (*transform)->fields(fields);
  EXPECT_TRUE(made.ok()) << made.error().message;
  Sample result;
  std::vector<TensorView> out;
  for (const Field& field : *made) {
    result.emplace_back(field.dtype, field.shape);
    std::fill_n(static_cast<uint8_t*>(result.back().data()), result.back().bytes(), uint8_t{0xff});
  }
  for (Tensor& tensor : result) out.push_back(tensor.view());
  const Status status = (*transform)->apply(sample, fields, SampleRandom(kSeed, epoch, 5), out);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return result;
}

std::string augment_error(const AugmentOptions& options, const Sample& sample, const Sample& batch_like) {
  const auto transform = make_augmentation(options);
  if (!transform.ok()) return transform.error().message;
  const auto made = (*transform)->fields(fields_of(batch_like));
  if (!made.ok()) return made.error().message;
  Sample result;
  std::vector<TensorView> out;
  for (const Field& field : *made) result.emplace_back(field.dtype, field.shape);
  for (Tensor& tensor : result) out.push_back(tensor.view());
  const Status status = (*transform)->apply(sample, fields_of(sample), SampleRandom(kSeed, 0, 5), out);
  return status.ok() ? "augmented" : status.error().message;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double most = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a.at(i) - b.at(i));
    most = difference >= most ? difference : std::isnan(difference) ? 1e30 : most;
  }
  return most;
}

TEST(Augmentation, AtZeroStrengthOnlyTheTypeChanges) {
  for (const auto& [dtype, full] :
       {std::pair{DType::kU8, 255.0}, std::pair{DType::kU16, 65535.0}, std::pair{DType::kF32, 1.0}}) {
    const Sample sample = random_sample(dtype, 2, 13, 17);
    const Sample made = must_augment({}, sample);
    EXPECT_TRUE(same_tensor(made[1], sample[1]));
    EXPECT_EQ(made[0].dtype(), DType::kF32);
    for (int64_t i = 0; i < made[0].size(); ++i) ASSERT_NEAR(made[0].at(i), sample[0].at(i) / full, 1e-7);
  }
}

// A pixel of the batch by the definitions of placement.h, in f64.
struct Reference {
  const Sample& sample;
  Placement placement;

  double pixel(int64_t plane, int64_t y, int64_t x, bool mask) const {
    const Tensor& from = sample[mask ? 1 : 0];
    const int64_t height = from.shape()[1], width = from.shape()[2];
    const auto reflect = [](int64_t i, int64_t n) {
      while (n > 1 && (i < 0 || i >= n)) i = i < 0 ? -i : 2 * (n - 1) - i;
      return n == 1 ? 0 : i;
    };
    const auto at = [&](int64_t sy, int64_t sx) {
      return from.at((plane * height + reflect(sy, height)) * width + reflect(sx, width));
    };
    if (placement.exact) {
      const ExactPlacement& e = *placement.exact;
      int64_t sy = e.transposed ? x : y, sx = e.transposed ? y : x;
      if (e.flip_y) sy = e.window.height - 1 - sy;
      if (e.flip_x) sx = e.window.width - 1 - sx;
      return at(e.window.y + sy, e.window.x + sx);
    }
    const auto [px, py] = point(y, x);
    if (mask)
      return at(static_cast<int64_t>(std::floor(py + 0.5)), static_cast<int64_t>(std::floor(px + 0.5)));
    const auto x0 = static_cast<int64_t>(std::floor(px)), y0 = static_cast<int64_t>(std::floor(py));
    const double fx = px - std::floor(px), fy = py - std::floor(py);
    return (1 - fy) * ((1 - fx) * at(y0, x0) + fx * at(y0, x0 + 1)) +
           fy * ((1 - fx) * at(y0 + 1, x0) + fx * at(y0 + 1, x0 + 1));
  }

  std::pair<double, double> point(int64_t y, int64_t x) const {
    const SmoothPlacement& s = placement.smooth;
    const auto dx = static_cast<double>(x), dy = static_cast<double>(y);
    double px = s.matrix[0] * dx + s.matrix[1] * dy + s.shift[0],
           py = s.matrix[2] * dx + s.matrix[3] * dy + s.shift[1];
    if (s.cell == 0) return {px, py};
    // The B-spline by its definition: the weight of a control point by its distance.
    const auto weight = [](double t) {
      t = std::abs(t);
      return t < 1 ? (4 - 6 * t * t + 3 * t * t * t) / 6 : t < 2 ? (2 - t) * (2 - t) * (2 - t) / 6 : 0.0;
    };
    for (int64_t r = 0; r < s.rows; ++r)
      for (int64_t c = 0; c < s.columns; ++c) {
        const double w = weight(dx / static_cast<double>(s.cell) - static_cast<double>(c - 1)) *
                         weight(dy / static_cast<double>(s.cell) - static_cast<double>(r - 1));
        px += w * static_cast<double>(s.bend_x[static_cast<std::size_t>(r * s.columns + c)]);
        py += w * static_cast<double>(s.bend_y[static_cast<std::size_t>(r * s.columns + c)]);
      }
    return {px, py};
  }
};

void expect_like_reference(const AugmentOptions& options, const Sample& sample, int64_t epoch) {
  const Sample made = must_augment(options, sample, epoch);
  const int64_t height = sample[0].shape()[1], width = sample[0].shape()[2];
  const Reference reference{sample, *place_in(options, SampleRandom(kSeed, epoch, 5), height, width)};
  const int64_t channels = made[0].shape()[0], rows = made[0].shape()[1], columns = made[0].shape()[2];
  const double range = range_factor(sample[0].dtype());
  int64_t i = 0;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x, ++i)
        ASSERT_NEAR(made[0].at(i), reference.pixel(c, y, x, false) * range, 2e-4)
            << c << ' ' << y << ' ' << x;
  int64_t wrong = 0;
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < columns; ++x)
      wrong += made[1].at(y * columns + x) != reference.pixel(0, y, x, true);
  // Points halfway between two pixels may be rounded either way.
  EXPECT_LE(wrong, reference.placement.exact ? 0 : rows * columns / 200 + 1);
}

TEST(Augmentation, CropsFlipsAndQuarterTurnsMoveWholePixels) {
  AugmentOptions options;
  options.crop = {9, 9};
  options.flip_horizontal = options.flip_vertical = options.quarter_turns = true;
  const Sample sample = random_sample(DType::kU16, 3, 21, 34);
  std::set<std::vector<double>> different;
  for (int64_t epoch = 0; epoch < 40; ++epoch) {
    expect_like_reference(options, sample, epoch);
    different.insert(must_augment(options, sample, epoch)[0].to_doubles());
  }
  EXPECT_GT(different.size(), 30u);
}

TEST(Augmentation, EveryTurnAndFlipOccurs) {
  AugmentOptions options;
  options.flip_horizontal = options.quarter_turns = true;
  const Sample sample = random_sample(DType::kF32, 1, 6, 6);
  std::set<std::vector<double>> different;
  for (int64_t epoch = 0; epoch < 200; ++epoch)
    different.insert(must_augment(options, sample, epoch)[0].to_doubles());
  EXPECT_EQ(different.size(), 8u);
}

TEST(Augmentation, RotationScaleAndBendMatchTheReference) {
  AugmentOptions options;
  const Sample sample = random_sample(DType::kU8, 2, 57, 43);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    options = {};
    options.rotate = 180;
    expect_like_reference(options, sample, epoch);
    options = {};
    options.scale = 0.5;
    expect_like_reference(options, sample, epoch);
    options = {};
    options.elastic = 4;
    options.elastic_cell = 10;
    expect_like_reference(options, sample, epoch);
    options.crop = {31, 31};
    options.rotate = 30;
    options.scale = 0.2;
    options.flip_vertical = options.flip_horizontal = options.quarter_turns = true;
    expect_like_reference(options, sample, epoch);
  }
}

TEST(Augmentation, SmoothMapsAgreeWithExactOnes) {
  AugmentOptions exact, smooth;
  exact.flip_vertical = exact.flip_horizontal = exact.quarter_turns = true;
  smooth = exact;
  smooth.rotate = 1e-9;
  const Sample sample = random_sample(DType::kF32, 1, 16, 16);
  for (int64_t epoch = 0; epoch < 16; ++epoch) {
    const Sample a = must_augment(exact, sample, epoch), b = must_augment(smooth, sample, epoch);
    EXPECT_LT(largest_difference(a[0], b[0]), 1e-4);
    EXPECT_TRUE(same_tensor(a[1], b[1]));
  }
}

TEST(Augmentation, TheBendMovesPlacesAsFarAsWasAskedFor) {
  AugmentOptions options;
  options.elastic = 3;
  double squares = 0;
  int64_t count = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const Placement placement = *place_in(options, SampleRandom(kSeed, epoch, 1), 200, 200);
    const Points points = points_of(placement.smooth, 200, 200);
    for (int64_t i = 0; i < 200 * 200; i += 7, ++count) {
      const auto at = static_cast<std::size_t>(i);
      const double dx = static_cast<double>(points.x[at]) + static_cast<double>(points.window.x - i % 200);
      const double dy = static_cast<double>(points.y[at]) + static_cast<double>(points.window.y - i / 200);
      squares += dx * dx + dy * dy;
    }
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)), 3, 0.3);
}

TEST(Augmentation, SmallImagesArePaddedByReflectionWhereThatIsAllowed) {
  AugmentOptions options;
  options.crop = {8, 12};
  const Sample sample = random_sample(DType::kU8, 1, 5, 7);
  EXPECT_THAT(augment_error(options, sample, random_sample(DType::kU8, 1, 8, 12)),
              HasSubstr("smaller than the crop of 12 x 8"));
  options.pad = true;
  expect_like_reference(options, sample, 0);
  options.rotate = 45;
  expect_like_reference(options, sample, 1);
}

TEST(Augmentation, ShrinkingAveragesWhatItSkips) {
  AugmentOptions options;
  options.resize = {8, 8};
  Sample sample = {Tensor(DType::kU8, {1, 64, 64}), Tensor::zeros(DType::kU8, {1, 64, 64})};
  for (std::size_t i = 0; i < 64 * 64; ++i) sample[0].as<uint8_t>()[i] = i % 2 == 0 ? 0 : 255;  // stripes
  const Sample made = must_augment(options, sample);
  EXPECT_EQ(made[0].shape(), (Shape{1, 8, 8}));
  for (const float value : made[0].as<float>()) EXPECT_NEAR(value, 0.5, 0.01);
}

TEST(Augmentation, ValuesChangeInTheStatedOrder) {
  AugmentOptions options;
  options.brightness = 0.3;
  options.contrast = 0.6;
  options.gamma = 0.5;
  options.mean = {0.4, 0.5};
  options.deviation = {0.2};
  const Sample sample = random_sample(DType::kU16, 2, 33, 21);
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    const SampleRandom random(kSeed, epoch, 5);
    const double brightness = random.uniform(kBrightnessStep, 0, -1, 1) * 0.3;
    const double contrast = 1 + random.uniform(kContrastStep, 0, -1, 1) * 0.6;
    const double gamma = std::pow(1.5, random.uniform(kGammaStep, 0, -1, 1));
    const Sample made = must_augment(options, sample, epoch);
    const int64_t pixels = 33 * 21;
    for (int64_t c = 0; c < 2; ++c) {
      double mean = 0;
      for (int64_t i = 0; i < pixels; ++i)
        mean += (sample[0].at(c * pixels + i) / 65535 + brightness) / pixels;
      for (int64_t i = 0; i < pixels; ++i) {
        double value = sample[0].at(c * pixels + i) / 65535 + brightness;
        value = (value - mean) * contrast + mean;
        value = std::pow(std::max(value, 0.0), gamma);
        value = (value - (c == 0 ? 0.4 : 0.5)) / 0.2;
        ASSERT_NEAR(made[0].at(c * pixels + i), value, 2e-4);
      }
    }
  }
}

TEST(Augmentation, NoiseIsPhiloxAndNormal) {
  AugmentOptions options;
  options.noise = 0.5;
  Sample sample = {Tensor::zeros(DType::kF32, {2, 61, 67})};
  const Tensor made = must_augment(options, sample, 3)[0];
  const SampleRandom random(kSeed, 3, 5);
  const int64_t pixels = 61 * 67;
  double sum = 0, squares = 0, fourth = 0;
  for (int64_t i = 0; i < made.size(); ++i) {
    const int64_t channel = i / pixels, place = i % pixels;
    const uint64_t first = random.first_of(kNoiseStep) + static_cast<uint64_t>(channel * ((pixels + 3) / 4));
    const auto words = random.philox().block(first + static_cast<uint64_t>(place / 4));
    const std::size_t pair = place % 4 < 2 ? 0 : 2;
    const auto uniform = [](uint32_t word) { return (static_cast<double>(word >> 9) + 0.5) * 0x1p-23; };
    const double radius = std::sqrt(-2 * std::log(uniform(words[pair])));
    const double angle = 2 * std::numbers::pi * uniform(words[pair + 1]);
    const double expected = 0.5 * radius * (place % 2 == 0 ? std::cos(angle) : std::sin(angle));
    ASSERT_NEAR(made.at(i), expected, 2e-5) << i;
    const double z = made.at(i) / 0.5;
    sum += z, squares += z * z, fourth += z * z * z * z;
  }
  const auto n = static_cast<double>(made.size());
  EXPECT_NEAR(sum / n, 0, 0.05);
  EXPECT_NEAR(squares / n, 1, 0.05);
  EXPECT_NEAR(fourth / n, 3, 0.4);
}

TEST(Augmentation, PercentilesStretchEachChannel) {
  AugmentOptions options;
  options.normalise = Normalise::kPercentile;
  options.low_percentile = 0;
  options.high_percentile = 100;
  const Sample sample = random_sample(DType::kU16, 2, 30, 30);
  const Tensor made = must_augment(options, sample)[0];
  for (int64_t c = 0; c < 2; ++c) {
    const auto values = made.as<float>().subspan(static_cast<std::size_t>(c) * 900, 900);
    EXPECT_NEAR(*std::min_element(values.begin(), values.end()), 0, 1e-5);
    EXPECT_NEAR(*std::max_element(values.begin(), values.end()), 1, 1e-5);
  }
  Sample even = {Tensor::zeros(DType::kU16, {1, 4, 4})};
  const Tensor black = must_augment(options, even)[0];
  for (const float value : black.as<float>()) EXPECT_EQ(value, 0);
}

TEST(Augmentation, StacksOfPagesMoveTogether) {
  AugmentOptions options;
  options.rotate = 90;
  const Sample flat = random_sample(DType::kU8, 6, 20, 20);
  Sample stack = {flat[0].reshaped({2, 3, 20, 20})};
  const Tensor made = must_augment(options, stack)[0], planes = must_augment(options, {flat[0]})[0];
  EXPECT_EQ(made.shape(), (Shape{2, 3, 20, 20}));
  EXPECT_TRUE(same_tensor(made.reshaped({6, 20, 20}), planes));
}

TEST(Augmentation, WhatCannotBeSaysWhatToDo) {
  const Sample sample = random_sample(DType::kU8, 1, 10, 12), other = random_sample(DType::kU8, 1, 10, 14);
  EXPECT_THAT(augment_error({}, sample, other), HasSubstr("images of mixed size; crop or resize"));
  AugmentOptions options;
  options.quarter_turns = true;
  EXPECT_THAT(augment_error(options, sample, sample), HasSubstr("must be square"));
  options = {};
  options.contrast = 2;
  EXPECT_THAT(augment_error(options, sample, sample), HasSubstr("contrast is 2, but must be from 0 to 1"));
  options = {};
  options.rotate = std::nan("");
  EXPECT_THAT(augment_error(options, sample, sample), HasSubstr("rotate"));
  options = {};
  options.mean = {1, 2, 3};
  EXPECT_THAT(augment_error(options, sample, sample),
              HasSubstr("3 means or deviations for an image of 1 channels"));
  options = {};
  options.crop = {-1, 5};
  EXPECT_THAT(augment_error(options, sample, sample), HasSubstr("crop to 5 x -1"));
}

}  // namespace
}  // namespace hone::data
