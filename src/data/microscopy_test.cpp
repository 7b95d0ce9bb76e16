#include "data/microscopy.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "data/synthetic_cells.h"

namespace hone::data {
namespace {

Microscopy make(MicroscopyOptions options) {
  auto result = synthesise_microscopy(options);
  EXPECT_TRUE(result.ok());
  return *result;
}

TEST(Microscopy, TheSameSeedGivesTheSameImages) {
  MicroscopyOptions options;
  options.channels = 2;
  const Microscopy first = make(options), again = make(options);
  EXPECT_TRUE(same_tensor(first.images, again.images));
  EXPECT_TRUE(same_tensor(first.masks, again.masks));
  options.seed = 2;
  EXPECT_FALSE(same_tensor(first.images, make(options).images));
}

TEST(Microscopy, ImagesDifferFromEachOtherAndStayInRange) {
  MicroscopyOptions options;
  options.images = 3;
  options.channels = 3;
  options.height = 97;
  options.width = 131;
  const Microscopy made = make(options);
  EXPECT_EQ(made.images.shape(), (Shape{3, 3, 97, 131}));
  EXPECT_EQ(made.masks.shape(), (Shape{3, 1, 97, 131}));
  for (float value : made.images.as<float>()) ASSERT_TRUE(value >= 0 && value <= 1) << value;
  const auto values = made.images.as<float>();
  const std::size_t image = 3 * 97 * 131;
  EXPECT_FALSE(std::equal(values.begin(), values.begin() + image, values.begin() + image));
}

TEST(Microscopy, CellsCoverAboutWhatWasAskedForAndAreBright) {
  MicroscopyOptions options;
  options.height = options.width = 512;
  const Microscopy made = make(options);
  double inside = 0, outside = 0;
  int64_t covered = 0;
  for (int64_t i = 0; i < made.masks.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool cell = made.masks.as<uint8_t>()[at] != 0;
    covered += cell;
    (cell ? inside : outside) += made.images.as<float>()[at];
  }
  const double share = static_cast<double>(covered) / static_cast<double>(made.masks.size());
  EXPECT_GT(share, 0.12);
  EXPECT_LT(share, 0.3);
  inside /= static_cast<double>(covered);
  outside /= static_cast<double>(made.masks.size() - covered);
  EXPECT_GT(inside, 3 * outside);
  EXPECT_GT(made.cells, 20);
}

TEST(Microscopy, CornersAreDarkerWithVignetting) {
  MicroscopyOptions options;
  options.covered = 0;  // one cell remains: too small to matter
  options.background = 0.5;
  options.vignetting = 0.8;
  const Microscopy made = make(options);
  const auto mean = [&](int64_t row, int64_t column) {
    double sum = 0;
    for (int64_t y = row; y < row + 16; ++y)
      for (int64_t x = column; x < column + 16; ++x)
        sum += made.images.as<float>()[static_cast<std::size_t>(y * 256 + x)];
    return sum;
  };
  const double corners = (mean(0, 0) + mean(0, 240) + mean(240, 0) + mean(240, 240)) / 4;
  EXPECT_LT(corners, 0.6 * mean(120, 120));
}

TEST(Microscopy, FewerPhotonsAreNoisier) {
  MicroscopyOptions options;
  options.covered = 0;
  const auto roughness = [&](double photons) {
    options.photons = photons;
    const Microscopy made = make(options);
    const auto values = made.images.as<float>();
    double sum = 0;
    for (std::size_t i = 1; i < values.size(); ++i) sum += std::abs(values[i] - values[i - 1]);
    return sum;
  };
  EXPECT_GT(roughness(100), 2 * roughness(2000));
}

TEST(Microscopy, SmallAndOddSizesWork) {
  MicroscopyOptions options;
  options.height = 1;
  options.width = 7;
  EXPECT_EQ(make(options).images.size(), 7);
}

TEST(Microscopy, RefusesImpossibleSizes) {
  MicroscopyOptions options;
  options.height = 0;
  EXPECT_FALSE(synthesise_microscopy(options).ok());
  options.height = -5;
  EXPECT_FALSE(synthesise_microscopy(options).ok());
  options.height = options.width = int64_t{1} << 40;
  EXPECT_FALSE(synthesise_microscopy(options).ok());
  options = {};
  options.photons = 0;
  EXPECT_FALSE(synthesise_microscopy(options).ok());
}

TEST(Microscopy, AsADataSetMakesEachSampleFromSeedAndNumber) {
  MicroscopyOptions options;
  options.images = 1'000'000;  // made when asked for
  options.height = 40;
  options.width = 48;
  const auto set = synthetic_cells(options);
  ASSERT_TRUE(set.ok());
  EXPECT_EQ((*set)->size(), 1'000'000);
  const Sample first = *(*set)->read(999'999), again = *(*set)->read(999'999), other = *(*set)->read(0);
  EXPECT_EQ(first[0].shape(), (Shape{1, 40, 48}));
  EXPECT_TRUE(same_tensor(first[0], again[0]));
  EXPECT_TRUE(same_tensor(first[1], again[1]));
  EXPECT_FALSE(same_tensor(first[0], other[0]));
  options.photons = 0;
  EXPECT_FALSE(synthetic_cells(options).ok());
}

}  // namespace
}  // namespace hone::data
