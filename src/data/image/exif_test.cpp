#include "data/image/exif.h"

#include <string>

#include <gtest/gtest.h>

#include "data/image/image.h"
#include "data/testing/scratch_folder.h"
#include "data/testing/write_images.h"

namespace hone::data {
namespace {

// A TIFF of one directory: the width, which is of no interest, and the orientation.
std::string exif_block(int orientation, bool big_endian, int type = 3, int count = 1) {
  std::string bytes = big_endian ? "MM" : "II";
  const auto add = [&](uint32_t value, int size) {
    for (int i = 0; i < size; ++i)
      bytes += static_cast<char>(value >> 8 * (big_endian ? size - 1 - i : i) & 0xff);
  };
  add(42, 2), add(8, 4);  // the directory follows
  add(2, 2);              // entries
  add(0x0100, 2), add(4, 2), add(1, 4), add(640, 4);
  add(0x0112, 2), add(static_cast<uint32_t>(type), 2), add(static_cast<uint32_t>(count), 4);
  add(static_cast<uint32_t>(orientation), 2), add(0, 2);
  add(0, 4);  // no further directory
  return bytes;
}

int orientation_of(const std::string& bytes) { return exif_orientation(std::as_bytes(std::span(bytes))); }

TEST(Exif, SaysTheOrientationInBothByteOrders) {
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const bool big_endian : {false, true})
      EXPECT_EQ(orientation_of(exif_block(orientation, big_endian)), orientation) << big_endian;
}

TEST(Exif, WhatIsNoOrientationIsUpright) {
  EXPECT_EQ(orientation_of(exif_block(0, false)), 1);
  EXPECT_EQ(orientation_of(exif_block(9, true)), 1);
  EXPECT_EQ(orientation_of(exif_block(6, true, 4)), 1) << "of another type";
  EXPECT_EQ(orientation_of(exif_block(6, true, 3, 2)), 1) << "two of them";
  EXPECT_EQ(orientation_of(""), 1);
  EXPECT_EQ(orientation_of("not a TIFF at all"), 1);
  const std::string whole = exif_block(6, false);
  for (std::size_t length = 0; length + 6 < whole.size(); ++length)
    EXPECT_EQ(orientation_of(whole.substr(0, length)), 1) << length;
}

// By the standard's words: where the first row and the first column of the file are seen.
struct Held {
  int orientation;
  char first_row, first_column;  // Top, Bottom, Left, Right
};
constexpr Held kHeld[] = {{1, 'T', 'L'}, {2, 'T', 'R'}, {3, 'B', 'R'}, {4, 'B', 'L'},
                          {5, 'L', 'T'}, {6, 'R', 'T'}, {7, 'R', 'B'}, {8, 'L', 'B'}};

// The pixels of the file of what is to be seen as `seen`.
Tensor file_of(const Tensor& seen, const Held& held) {
  const int64_t channels = seen.shape()[0], height = seen.shape()[1], width = seen.shape()[2];
  const bool lies = held.first_row == 'L' || held.first_row == 'R';
  Tensor file(seen.dtype(), {channels, lies ? width : height, lies ? height : width});
  const int64_t rows = file.shape()[1], columns = file.shape()[2];
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t k = 0; k < columns; ++k) {
        int64_t y = 0, x = 0;
        for (const auto& [side, at] : {std::pair{held.first_row, r}, {held.first_column, k}}) {
          if (side == 'T') y = at;
          if (side == 'B') y = height - 1 - at;
          if (side == 'L') x = at;
          if (side == 'R') x = width - 1 - at;
        }
        file.as<uint8_t>()[static_cast<std::size_t>((c * rows + r) * columns + k)] =
            static_cast<uint8_t>(seen.int_at((c * height + y) * width + x));
      }
  return file;
}

TEST(Exif, EveryOrientationIsSeenUpright) {
  const Tensor seen = testing::patterned_image(DType::kU8, 3, 5, 7);
  for (const Held& held : kHeld) {
    const auto turned = upright(file_of(seen, held), held.orientation);
    ASSERT_TRUE(turned.ok());
    EXPECT_TRUE(same_tensor(*turned, seen)) << held.orientation;
  }
}

TEST(Exif, AJpegIsReadAsItIsToBeSeen) {
  const testing::ScratchFolder folder("exif");
  Tensor seen(DType::kU8, {1, 24, 40});  // dark above, bright below
  for (int64_t i = 0; i < seen.size(); ++i)
    seen.as<uint8_t>()[static_cast<std::size_t>(i)] = static_cast<uint8_t>(40 + i / 40 * 7 + i % 40);
  for (const Held& held : kHeld) {
    testing::write_jpeg(folder / "a.jpg", file_of(seen, held), exif_block(held.orientation, true));
    StageTimes times;
    const auto read = read_image(folder / "a.jpg", times);
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_EQ(read->shape(), seen.shape()) << held.orientation;
    for (int64_t i = 0; i < seen.size(); ++i) ASSERT_NEAR(read->at(i), seen.at(i), 6) << held.orientation;
  }
}

}  // namespace
}  // namespace hone::data
