#include "data/image/image.h"

#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/npy/npy.h"
#include "core/philox.h"
#include "data/image/tiff.h"
#include "data/testing/scratch_folder.h"
#include "data/testing/write_images.h"

namespace hone::data {
namespace {

using ::testing::HasSubstr;
using testing::patterned_image;
using testing::ScratchFolder;
using testing::TiffLayout;

Tensor must_read(const std::filesystem::path& path) {
  StageTimes times;
  auto image = read_image(path, times);
  EXPECT_TRUE(image.ok()) << image.error().message;
  EXPECT_GT(times[Stage::kRead], 0);
  EXPECT_GT(times[Stage::kDecode], 0);
  return image.ok() ? *image : Tensor();
}

std::string read_failure(const std::filesystem::path& path, const ImageLimits& limits = {}) {
  StageTimes times;
  const auto image = read_image(path, times, limits);
  return image.ok() ? "read" : image.error().message;
}

TEST(Image, PngOfEveryDepthAndColour) {
  const ScratchFolder folder("png");
  for (const DType dtype : {DType::kU8, DType::kU16})
    for (const int64_t channels : {1, 2, 3, 4})
      for (const bool interlaced : {false, true}) {
        const Tensor image = patterned_image(dtype, channels, 19, 23);
        testing::write_png(folder / "a.png", image, interlaced);
        EXPECT_TRUE(same_tensor(must_read(folder / "a.png"), image))
            << dtype_name(dtype) << channels << interlaced;
      }
}

TEST(Image, JpegIsCloseToWhatWasSaved) {
  const ScratchFolder folder("jpeg");
  for (const int64_t channels : {1, 3}) {
    Tensor image(DType::kU8, {channels, 40, 52});
    for (int64_t i = 0; i < image.size(); ++i)  // smooth: what JPEG is for
      image.as<uint8_t>()[static_cast<std::size_t>(i)] = static_cast<uint8_t>(
          120 + 80 * std::sin(static_cast<double>(i % 52) / 17) + static_cast<double>(i / 52 % 40));
    testing::write_jpeg(folder / "a.jpg", image);
    const Tensor read = must_read(folder / "a.jpg");
    ASSERT_EQ(read.shape(), image.shape());
    for (int64_t i = 0; i < image.size(); ++i) ASSERT_NEAR(read.at(i), image.at(i), 6);
  }
}

TEST(Image, TiffOfEveryTypeAndLayout) {
  const ScratchFolder folder("tiff");
  const auto path = folder / "a.tif";
  for (const DType dtype : {DType::kU8, DType::kU16, DType::kI16, DType::kU32, DType::kF32, DType::kF64})
    for (const int64_t channels : {1, 3}) {
      const Tensor image = patterned_image(dtype, channels, 37, 53);
      for (const TiffLayout& layout :
           {TiffLayout{}, TiffLayout{.rows_per_strip = 100}, TiffLayout{.planar = true},
            TiffLayout{.tile = 16}, TiffLayout{.tile = 32, .planar = true},
            TiffLayout{.big_endian = true, .big_tiff = true},
            TiffLayout{.compression = COMPRESSION_LZW, .predictor = 2},
            TiffLayout{.tile = 16, .compression = COMPRESSION_ADOBE_DEFLATE}}) {
        if (layout.predictor == 2 && is_float(dtype)) continue;
        testing::write_tiff(path, {image}, layout);
        EXPECT_TRUE(same_tensor(must_read(path), image))
            << dtype_name(dtype) << ' ' << channels << ' ' << layout.tile;
      }
    }
}

Tensor few_bits_image(int bits) {
  Tensor image = patterned_image(DType::kU8, 1, 11, 13);
  for (uint8_t& value : image.as<uint8_t>()) value = static_cast<uint8_t>(value & ((1 << bits) - 1));
  return image;
}

Tensor multiplied(const Tensor& image, int factor) {
  Tensor made = image.clone();
  for (uint8_t& value : made.as<uint8_t>()) value = static_cast<uint8_t>(value * factor);
  return made;
}

TEST(Image, GreyOfFewBitsIsSeenInFullButForMasks) {
  const ScratchFolder folder("bits");
  StageTimes times;
  for (const int bits : {1, 2, 4}) {
    const Tensor image = few_bits_image(bits);
    testing::write_png(folder / "a.png", image, false, bits);
    EXPECT_TRUE(same_tensor(must_read(folder / "a.png"), multiplied(image, 255 / ((1 << bits) - 1)))) << bits;
    EXPECT_TRUE(same_tensor(*read_image(folder / "a.png", times, {}, Narrow::kStored), image)) << bits;
  }
  const Tensor image = few_bits_image(1);
  testing::write_tiff(folder / "a.tif", {image}, {.one_bit = true});
  EXPECT_TRUE(same_tensor(must_read(folder / "a.tif"), multiplied(image, 255)));
  EXPECT_TRUE(same_tensor(*read_image(folder / "a.tif", times, {}, Narrow::kStored), image));
}

TEST(Image, TiffWithWhiteAsZeroIsTurned) {
  const ScratchFolder folder("white");
  const auto white = [](TiffLayout layout) {
    layout.photometric = PHOTOMETRIC_MINISWHITE;
    return layout;
  };
  for (const DType dtype : {DType::kU8, DType::kU16, DType::kI16, DType::kU32}) {
    const Tensor stored = patterned_image(dtype, 1, 19, 23);
    testing::write_tiff(folder / "a.tif", {stored}, white({}));
    const Tensor read = must_read(folder / "a.tif");
    // The largest number of an unsigned type is as far from 0 as -1 is from the smallest of a signed one.
    const double sum = dtype == DType::kI16 ? -1 : std::ldexp(1.0, dtype_bits(dtype)) - 1;
    for (int64_t i = 0; i < stored.size(); ++i)
      ASSERT_EQ(read.at(i), sum - stored.at(i)) << dtype_name(dtype);
  }
  const Tensor bits = few_bits_image(1);
  testing::write_tiff(folder / "a.tif", {bits}, white({.one_bit = true}));
  const Tensor read = must_read(folder / "a.tif");
  for (int64_t i = 0; i < bits.size(); ++i) ASSERT_EQ(read.at(i), bits.at(i) == 0 ? 255 : 0);
  testing::write_tiff(folder / "a.tif", {patterned_image(DType::kF32, 1, 5, 5)}, white({}));
  EXPECT_THAT(read_failure(folder / "a.tif"), HasSubstr("its white is the least"));
}

TEST(Image, TiffOfAPaletteIsItsColours) {
  const ScratchFolder folder("palette");
  const Tensor numbers = patterned_image(DType::kU8, 1, 19, 23);
  const Tensor colours = patterned_image(DType::kU8, 3, 16, 16);  // 256 of each
  for (const int step : {257, 256, 1}) {  // as the standard has it, and as some programs write it
    std::vector<uint16_t> palette;
    for (int64_t i = 0; i < colours.size(); ++i)
      palette.push_back(static_cast<uint16_t>(colours.at(i) * step));
    testing::write_tiff(folder / "a.tif", {numbers},
                        {.photometric = PHOTOMETRIC_PALETTE, .palette = std::move(palette)});
    const Tensor read = must_read(folder / "a.tif");
    ASSERT_EQ(read.shape(), (Shape{3, 19, 23}));
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t i = 0; i < numbers.size(); ++i)
        ASSERT_EQ(read.at(c * numbers.size() + i), colours.at(c * 256 + numbers.int_at(i))) << step;
  }
  testing::write_tiff(folder / "a.tif", {patterned_image(DType::kU8, 3, 5, 5)},
                      {.photometric = PHOTOMETRIC_CIELAB});
  EXPECT_THAT(read_failure(folder / "a.tif"), HasSubstr("its colours are Lab"));
}

// Another number for a tag of one LONG or SHORT, of a little-endian file.
void set_tag(const std::filesystem::path& path, uint16_t tag, uint32_t value) {
  std::string bytes = *read_file(path);
  for (std::size_t i = 8; i + 12 <= bytes.size(); ++i) {
    uint16_t found = 0;
    uint32_t count = 0;
    std::memcpy(&found, &bytes[i], sizeof found);
    std::memcpy(&count, &bytes[i + 4], sizeof count);
    if (found != tag || count != 1) continue;
    const uint16_t is_long = 4;
    std::memcpy(&bytes[i + 2], &is_long, sizeof is_long);
    std::memcpy(&bytes[i + 8], &value, sizeof value);
    ASSERT_TRUE(write_file(path, bytes).ok());
    return;
  }
  FAIL() << "no tag " << tag;
}

TEST(Image, TilesFarLargerThanTheImageAreDamage) {
  const ScratchFolder folder("tiles");
  const Tensor image = patterned_image(DType::kU8, 3, 20, 24);
  testing::write_tiff(folder / "a.tif", {image},
                      {.tile = 512});  // as the small levels of a pyramid have them
  EXPECT_TRUE(same_tensor(must_read(folder / "a.tif"), image));
  testing::write_tiff(folder / "a.tif", {image}, {.tile = 16});
  for (const uint32_t length : {20'000'000u, 2'147'483'664u}) {
    set_tag(folder / "a.tif", TIFFTAG_TILELENGTH, length);
    StageTimes times;
    const auto read = read_image(folder / "a.tif", times);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(read.error().message, HasSubstr("far larger than its 24 x 20 pixels"));
  }
}

TEST(Image, TiffPagesAndStacks) {
  const ScratchFolder folder("pages");
  const auto path = folder / "a.ome.tif";
  std::vector<Tensor> pages;
  for (int64_t i = 0; i < 12; ++i) pages.push_back(patterned_image(DType::kU16, 1, 5, 6, i));
  testing::write_tiff(
      path, pages,
      {.description =
           R"(<?xml version="1.0"?><OME><Image><Pixels DimensionOrder="XYZCT" Type="uint16" SizeX="6" SizeY="5" SizeZ="3" SizeC="2" SizeT="2"/></Image></OME>)"});
  const auto file = TiffFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->pages(), 12);
  EXPECT_TRUE(same_tensor(*file->read_page(7), pages[7]));
  const auto axes = file->axes();
  ASSERT_TRUE(axes.ok()) << axes.error().message;
  EXPECT_EQ(axes->times, 2);
  const auto stack = file->read_stack(*axes, 1);
  ASSERT_TRUE(stack.ok()) << stack.error().message;
  EXPECT_EQ(stack->shape(), (Shape{2, 3, 5, 6}));
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t z = 0; z < 3; ++z)
      for (int64_t i = 0; i < 30; ++i)
        ASSERT_EQ(stack->at((c * 3 + z) * 30 + i), pages[static_cast<std::size_t>(6 + c * 3 + z)].at(i));
  EXPECT_GT(file->read_ns(), 0);
}

TEST(Image, StackAxesOfOmeAndImageJ) {
  const auto ome = [](const std::string& order, const std::string& rest) {
    return "<OME><Pixels ID='1' DimensionOrder='" + order + "' " + rest + "></OME>";
  };
  const auto axes = stack_axes(ome("XYCZT", "SizeC='2' SizeT='3' SizeZ='4'"), 24, 1);
  ASSERT_TRUE(axes.ok()) << axes.error().message;
  EXPECT_EQ(axes->page_of(1, 2, 1), 1 + 2 * 2 + 8);
  EXPECT_EQ(stack_axes(ome("XYZCT", "SizeC='3' SizeT='1' SizeZ='4'"), 4, 3)->channels, 1);
  const auto imagej = stack_axes("ImageJ=1.53\nimages=6\nchannels=2\nslices=3\nhyperstack=true\n", 6, 1);
  ASSERT_TRUE(imagej.ok());
  EXPECT_EQ(imagej->page_of(1, 2, 0), 5);
  EXPECT_EQ(imagej->page_of(1, 0, 0), 1);
  EXPECT_EQ(stack_axes("", 7, 1)->depth, 7);
  EXPECT_THAT(stack_axes(ome("XYZCT", "SizeC='2' SizeT='1' SizeZ='4'"), 4, 1).error().message,
              HasSubstr("8 pages"));
  EXPECT_THAT(stack_axes(ome("XYZCT", "SizeC='x' SizeT='1' SizeZ='4'"), 4, 1).error().message,
              HasSubstr("no number"));
  EXPECT_FALSE(stack_axes(ome("XYZZT", "SizeC='1' SizeT='1' SizeZ='4'"), 4, 1).ok());
  EXPECT_FALSE(stack_axes(ome("XYZCT", "SizeC='999999999999' SizeT='999999999' SizeZ='4'"), 4, 1).ok());
}

TEST(Image, NpyArraysAreImages) {
  const ScratchFolder folder("npy");
  const Tensor image = patterned_image(DType::kF32, 1, 4, 5);
  ASSERT_TRUE(write_npy(folder / "a.npy", image.reshaped({4, 5})).ok());
  EXPECT_TRUE(same_tensor(must_read(folder / "a.npy"), image));
}

TEST(Image, DamagedFilesAreErrorsThatNameThem) {
  const ScratchFolder folder("damage");
  testing::write_png(folder / "a.png", patterned_image(DType::kU8, 3, 40, 40));
  testing::write_jpeg(folder / "a.jpg", patterned_image(DType::kU8, 3, 40, 40));
  testing::write_tiff(folder / "a.tif", {patterned_image(DType::kU16, 1, 40, 40)},
                      {.compression = COMPRESSION_LZW});
  testing::write_tiff(folder / "b.tif", {patterned_image(DType::kU16, 3, 40, 40)}, {.tile = 16});
  for (const char* name : {"a.png", "a.jpg", "a.tif", "b.tif"}) {
    const std::string whole = *read_file(folder / name);
    const Philox random(1);
    for (std::size_t i = 0; i < 60; ++i) {
      std::string damaged = whole.substr(0, i < 20 ? whole.size() * i / 20 : whole.size());
      for (uint64_t k = 0; i >= 20 && k < 8; ++k)
        damaged[static_cast<std::size_t>(random.uniform(i * 16 + k) * static_cast<double>(damaged.size()))] ^=
            static_cast<char>(1 + k * 31);
      folder.write("x", damaged);
      const std::string said =
          read_failure(folder / "x", {.pixels = 1 << 20});  // whatever it says, it must not crash
      if (i < 20) {
        EXPECT_THAT(said, HasSubstr((folder / "x").string())) << name << ' ' << i;
      }
    }
  }
}

TEST(Image, WhatIsNoImageOrTooLargeSaysSo) {
  const ScratchFolder folder("limits");
  ASSERT_TRUE(write_file(folder / "a.png", "hello").ok());
  EXPECT_THAT(read_failure(folder / "a.png"), HasSubstr("no image that hone reads"));
  ASSERT_TRUE(write_file(folder / "b.png", "").ok());
  EXPECT_THAT(read_failure(folder / "b.png"), HasSubstr("empty"));
  EXPECT_THAT(read_failure(folder.path()), HasSubstr("it is not a file"));
  EXPECT_THAT(read_failure(folder / "none.png"), HasSubstr("No such file"));
  testing::write_png(folder / "c.png", patterned_image(DType::kU8, 1, 30, 30));
  testing::write_jpeg(folder / "c.jpg", patterned_image(DType::kU8, 1, 30, 30));
  testing::write_tiff(folder / "c.tif", {patterned_image(DType::kU8, 1, 30, 30)});
  for (const char* name : {"c.png", "c.jpg", "c.tif"})
    EXPECT_THAT(read_failure(folder / name, {.pixels = 899}), HasSubstr("over the limit of 899")) << name;
}

}  // namespace
}  // namespace hone::data
