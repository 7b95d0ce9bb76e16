#include "data/image/exif.h"

#include <cstdint>

namespace hone::data {
namespace {

constexpr uint32_t kOrientationTag = 0x0112, kShortType = 3;
constexpr std::size_t kEntryBytes = 12;

// Numbers of a TIFF in its byte order; 0 behind its end.
class TiffBytes {
 public:
  TiffBytes(std::span<const std::byte> bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  uint32_t number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return 0;
    uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 | std::to_integer<uint32_t>(bytes_[at + (big_endian_ ? i : size - 1 - i)]);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool big_endian_;
};

// Whether what is seen has the rows of the image as columns, and whether it runs through its rows or columns backwards.
struct ExifTurn {
  bool transposed = false, rows_backwards = false, columns_backwards = false;
};

ExifTurn turn_of(int orientation) {
  switch (orientation) {
    case 2:
      return {false, false, true};
    case 3:
      return {false, true, true};
    case 4:
      return {false, true, false};
    case 5:
      return {true, false, false};
    case 6:
      return {true, true, false};
    case 7:
      return {true, true, true};
    case 8:
      return {true, false, true};
    default:
      return {};
  }
}

}  // namespace

int exif_orientation(std::span<const std::byte> tiff) {
  const auto starts_with = [&](char c) {
    return tiff.size() >= 8 && tiff[0] == std::byte(c) && tiff[1] == std::byte(c);
  };
  if (!starts_with('I') && !starts_with('M')) return 1;
  const TiffBytes bytes(tiff, starts_with('M'));
  if (bytes.number(2, 2) != 42) return 1;
  const std::size_t directory = bytes.number(4, 4);
  const std::size_t entries = bytes.number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (entry + kEntryBytes > tiff.size()) return 1;
    if (bytes.number(entry, 2) != kOrientationTag) continue;
    const bool is_one_short = bytes.number(entry + 2, 2) == kShortType && bytes.number(entry + 4, 4) == 1;
    const uint32_t value = bytes.number(entry + 8, 2);
    return is_one_short && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Result<Tensor> upright(const Tensor& image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const ExifTurn turn = turn_of(orientation);
  const int64_t channels = image.shape()[0], height = image.shape()[1], width = image.shape()[2];
  const int64_t rows = turn.transposed ? width : height, columns = turn.transposed ? height : width;
  HONE_ASSIGN(Tensor seen, Tensor::try_make(image.dtype(), {channels, rows, columns}));
  const auto* from = image.as<uint8_t>().data();
  auto* to = seen.as<uint8_t>().data();
  for (int64_t c = 0; c < channels; ++c, from += height * width)
    for (int64_t y = 0; y < rows; ++y)
      for (int64_t x = 0; x < columns; ++x) {
        const int64_t row = turn.transposed ? x : y, column = turn.transposed ? y : x;
        *to++ = from[(turn.rows_backwards ? height - 1 - row : row) * width +
                     (turn.columns_backwards ? width - 1 - column : column)];
      }
  return seen;
}

}  // namespace hone::data
