// Arrays that zarr-python wrote (data/testing/files/make.py), and damage to them.
#include "data/zarr/zarr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/philox.h"
#include "core/testing/source_folder.h"
#include "data/testing/scratch_folder.h"
#include "data/zarr/chunk.h"

namespace hone::data {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ScratchFolder;

fs::path array_folder(const std::string& name) {
  return source_folder() / "src/data/testing/files/zarr" / name;
}

ZarrArray must_open(const fs::path& folder) {
  auto array = ZarrArray::open(folder);
  EXPECT_TRUE(array.ok()) << array.error().message;
  return *std::move(array);
}

// What make.py wrote at flat place `i` of a box.
double expected_at(int64_t i, const Shape& start, const Shape& extent, int64_t axes) {
  constexpr int64_t kWeights[3][3] = {{1, 0, 0}, {100, 1, 0}, {100, 10, 1}};
  double value = 0;
  for (int64_t axis = axes; axis-- > 0;) {
    const auto at = static_cast<std::size_t>(axis);
    value += static_cast<double>(kWeights[axes - 1][axis] * (start[at] + i % extent[at]));
    i /= extent[at];
  }
  return value;
}

void expect_numbers(const ZarrArray& array, const Shape& start, const Shape& extent,
                    std::size_t threads = 1) {
  StageTimes times;
  const auto box = array.read(start, extent, times, threads);
  ASSERT_TRUE(box.ok()) << box.error().message;
  ASSERT_EQ(box->shape(), extent);
  for (int64_t i = 0; i < box->size(); ++i)
    ASSERT_EQ(box->at(i), expected_at(i, start, extent, std::ssize(extent))) << i;
  EXPECT_GT(times[Stage::kDecode], 0);
}

TEST(Zarr, ReadsWhatZarrPythonWrote) {
  for (const auto& [name, dtype] :
       {std::pair{"v2_raw", DType::kU16}, std::pair{"v2_big_endian_zlib", DType::kI32},
        std::pair{"v2_blosc", DType::kF32}, std::pair{"v2_zstd", DType::kU8},
        std::pair{"v3_raw", DType::kU16}, std::pair{"v3_gzip", DType::kF64},
        std::pair{"v3_zstd_checksum", DType::kI16}, std::pair{"v3_sharded", DType::kU16}}) {
    SCOPED_TRACE(name);
    const ZarrArray array = must_open(array_folder(name));
    EXPECT_EQ(array.dtype(), dtype);
    const Shape origin(array.shape().size(), 0);
    expect_numbers(array, origin, array.shape());
    expect_numbers(array, origin, array.shape(), 3);
  }
}

TEST(Zarr, AnyBoxIsThatPartOfTheWhole) {
  for (const char* name : {"v2_blosc", "v3_gzip", "v3_sharded"}) {
    const ZarrArray array = must_open(array_folder(name));
    const Philox random(5);
    for (uint64_t i = 0; i < 40; ++i) {
      Shape start, extent;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const int64_t length = array.shape()[axis];
        start.push_back(static_cast<int64_t>(random.uniform(i * 8 + axis) * static_cast<double>(length)));
        extent.push_back(1 + static_cast<int64_t>(random.uniform(i * 8 + 4 + axis) *
                                                  static_cast<double>(length - start[axis])));
      }
      expect_numbers(array, start, extent);
    }
  }
}

TEST(Zarr, MissingChunksHoldTheFillValue) {
  const ZarrArray array = must_open(array_folder("v3_sparse"));
  StageTimes times;
  const auto whole = array.read(Shape{0, 0}, array.shape(), times);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  for (int64_t y = 0; y < 6; ++y)
    for (int64_t x = 0; x < 6; ++x) EXPECT_EQ(whole->at(y * 6 + x), y == 2 && (x == 2 || x == 3) ? 7 : -1.5);
}

TEST(Zarr, GroupsOfOmeZarrAreTheirLargestImage) {
  const ZarrArray array = must_open(array_folder("image.ome.zarr"));
  EXPECT_EQ(array.axes(), "cyx");
  EXPECT_EQ(array.shape(), (Shape{2, 6, 8}));
}

TEST(Zarr, SamplesArePlacesAndPieces) {
  const auto each = open_zarr({.image = array_folder("v2_blosc")});  // nyx
  ASSERT_TRUE(each.ok()) << each.error().message;
  EXPECT_EQ((*each)->size(), 4);
  EXPECT_EQ((*each)->fields()[0].shape, (Shape{1, 5, 6}));
  EXPECT_EQ((*(*each)->read(3))[0].at(7), 311);

  // y, x, c in the file; pieces of 2 x 3, the last row of them moved back to end with the image.
  const auto pieces = open_zarr({.image = array_folder("v3_gzip"), .axes = "yxc", .patch = {0, 3, 2}});
  ASSERT_TRUE(pieces.ok()) << pieces.error().message;
  EXPECT_EQ((*pieces)->size(), 6);
  const Sample last = *(*pieces)->read(5);
  EXPECT_EQ(last[0].shape(), (Shape{6, 3, 2}));
  for (int64_t c = 0; c < 6; ++c)
    for (int64_t y = 0; y < 3; ++y)
      for (int64_t x = 0; x < 2; ++x)
        EXPECT_EQ(last[0].at((c * 3 + y) * 2 + x), (y + 1) * 100.0 + (x + 3) * 10.0 + static_cast<double>(c));

  const auto masked = open_zarr({.image = array_folder("v3_gzip"),
                                 .mask = array_folder("v3_sharded"),
                                 .axes = "zyx",
                                 .mask_axes = "zyx",
                                 .patch = {2, 0, 0}});
  ASSERT_TRUE(masked.ok()) << masked.error().message;
  EXPECT_EQ((*masked)->fields()[1].shape, (Shape{1, 2, 5, 6}));
  EXPECT_EQ((*(*masked)->read(1))[1].at(0), 200);
}

TEST(Zarr, WhatDoesNotFitIsRefused) {
  const auto fails = [](ZarrOptions options) {
    const auto set = open_zarr(options);
    return set.ok() ? "opened" : set.error().message;
  };
  EXPECT_THAT(fails({.image = array_folder("v2_blosc"), .axes = "yx"}), HasSubstr("the axes \"yx\" are 2"));
  EXPECT_THAT(fails({.image = array_folder("v2_blosc"), .axes = "qyx"}), HasSubstr("each is one of n, t, c"));
  EXPECT_THAT(fails({.image = array_folder("v2_blosc"), .axes = "nzx"}), HasSubstr("name no y and x"));
  EXPECT_THAT(fails({.image = array_folder("v2_zstd")}), HasSubstr("say what its axes are"));
  EXPECT_THAT(fails({.image = array_folder("v2_raw"), .mask = array_folder("v2_blosc")}),
              HasSubstr("a mask has the size of its image"));
  EXPECT_THAT(fails({.image = array_folder("v2_raw"), .patch = {0, 9, 0}}),
              HasSubstr("pieces of 9 along y, which is 5 long"));
  EXPECT_THAT(fails({.image = array_folder("v2_blosc"), .label = array_folder("v2_zstd")}),
              HasSubstr("labels of shape [9] for 4 images"));
  EXPECT_THAT(fails({.image = array_folder("")}), HasSubstr("neither .zarray nor zarr.json"));
  EXPECT_THAT(fails({.image = array_folder("none")}), HasSubstr("there is no such folder"));
}

TEST(Zarr, DamagedChunksAreErrorsThatNameThem) {
  for (const auto& [name, chunk] :
       {std::pair{"v2_blosc", "0.0.0"}, std::pair{"v2_big_endian_zlib", "0/0"},
        std::pair{"v3_zstd_checksum", "c/0/0"}, std::pair{"v3_sharded", "c/0/0/0"}}) {
    const ScratchFolder folder("damaged-zarr");
    fs::copy(array_folder(name), folder / "a", fs::copy_options::recursive);
    const fs::path path = folder / "a" / chunk;
    const std::string whole = *read_file(path);
    const ZarrArray array = must_open(folder / "a");
    const Shape origin(array.shape().size(), 0);
    for (std::size_t i = 0; i < 60; ++i) {
      std::string damaged = i < 20 ? whole.substr(0, whole.size() * i / 20) : whole;
      if (i >= 20)
        damaged[static_cast<std::size_t>(Philox(2).uniform(i) * static_cast<double>(damaged.size()))] ^= 0x24;
      folder.write("a/" + std::string(chunk), damaged);
      StageTimes times;
      const auto read =
          array.read(origin, array.shape(), times);  // must not crash, and names the chunk where it sees it
      if (i < 20) {
        ASSERT_FALSE(read.ok()) << name << i;
      }
      if (!read.ok()) {
        EXPECT_THAT(read.error().message, HasSubstr(path.string()));
      }
    }
  }
}

TEST(Zarr, ChecksumsAreThoseOfTheStandard) {
  const std::string text = "123456789";  // RFC 3720's polynomial; the usual check value
  EXPECT_EQ(crc32c(std::as_bytes(std::span(text))), 0xE3069283u);
}

std::string v2_error(const std::string& text) {
  const auto array = parse_zarr_v2(text);
  return array.ok() ? "parsed" : array.error().message;
}

std::string v2_json(const std::string& change_key, const std::string& value) {
  std::string text = "{";
  for (const auto& [key, plain] :
       {std::pair{"zarr_format", "2"}, std::pair{"shape", "[4,4]"}, std::pair{"chunks", "[2,2]"},
        std::pair{"dtype", "\"<u2\""}, std::pair{"fill_value", "0"}, std::pair{"order", "\"C\""},
        std::pair{"compressor", "null"}, std::pair{"filters", "null"}})
    text += (text.size() > 1 ? ",\"" : "\"") + std::string(key) + "\":" + (change_key == key ? value : plain);
  return text + "}";
}

TEST(Zarr, HostileMetadataAreErrors) {
  EXPECT_EQ(v2_error(v2_json("", "")), "parsed");
  EXPECT_THAT(v2_error("[1"), HasSubstr("not JSON"));
  EXPECT_THAT(v2_error(v2_json("shape", "[-4,4]")), HasSubstr("'shape'"));
  EXPECT_THAT(v2_error(v2_json("shape", "[1e300,4]")), HasSubstr("'shape'"));
  EXPECT_THAT(v2_error(v2_json("chunks", "[0,2]")), HasSubstr("'chunks'"));
  EXPECT_THAT(v2_error(v2_json("chunks", "[2]")), HasSubstr("chunks of 1 axes in an array of 2"));
  EXPECT_THAT(v2_error(v2_json("chunks", "[100000,100000]")), HasSubstr("over the limit"));
  EXPECT_THAT(v2_error(v2_json("shape", "[100000000000000,100000000000000]")), HasSubstr("more elements"));
  EXPECT_THAT(v2_error(v2_json("dtype", "\"<U4\"")), HasSubstr("'<U4' is not supported"));
  EXPECT_THAT(v2_error(v2_json("dtype", "[[\"a\",\"<u2\"]]")), HasSubstr("records"));
  EXPECT_THAT(v2_error(v2_json("compressor", "{\"id\":\"lzma\"}")), HasSubstr("'lzma' is not supported"));
  EXPECT_THAT(v2_error(v2_json("filters", "[{\"id\":\"delta\"}]")), HasSubstr("'delta' is not supported"));
  EXPECT_THAT(v2_error(v2_json("fill_value", "\"x\"")), HasSubstr("fill value"));
  EXPECT_THAT(v2_error(v2_json("order", "\"K\"")), HasSubstr("order"));
  EXPECT_THAT(v2_error(v2_json("zarr_format", "3")), HasSubstr("'zarr_format'"));
}

}  // namespace
}  // namespace hone::data
