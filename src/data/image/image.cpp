#include "data/image/image.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include <fmt/core.h>

#include "core/npy/npy.h"
#include "data/file_bytes.h"
#include "data/image/formats.h"
#include "data/image/tiff.h"

namespace hone::data {
namespace {

constexpr std::array<std::string_view, 6> kSuffixes = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".npy"};

template <typename T>
void split_as(const T* from, T* to, int64_t channels, int64_t pixels) {
  if (channels == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(pixels) * sizeof(T));
    return;
  }
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < pixels; ++i) to[c * pixels + i] = from[i * channels + c];
}

// [H,W], [H,W,C] with up to 4 channels, or [C,H,W]; anything else is as its file says.
Result<Tensor> decode_npy_image(std::span<const std::byte> bytes, const ImageLimits& limits) {
  HONE_ASSIGN(Tensor array, parse_npy(bytes));
  if (array.size() > limits.pixels)
    return unsupported(fmt::format("{} numbers are more than the limit of {}", array.size(), limits.pixels));
  if (array.size() == 0)
    return corrupt(fmt::format("an array of shape {} is empty", shape_text(array.shape())));
  if (array.rank() < 2 || array.rank() > 4)
    return unsupported(
        fmt::format("an array of shape {} is no image; save [height, width] or [channels, height, width]",
                    shape_text(array.shape())));
  if (array.rank() == 2) return array.reshaped({1, array.shape()[0], array.shape()[1]});
  return array;
}

}  // namespace

ImageFormat image_format(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              std::min<std::size_t>(bytes.size(), 8));
  if (text.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (text.starts_with("\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (text.starts_with("\x93NUMPY")) return ImageFormat::kNpy;
  for (const std::string_view magic : {std::string_view("II*\0", 4), std::string_view("MM\0*", 4),
                                       std::string_view("II+\0", 4), std::string_view("MM\0+", 4)})
    if (text.starts_with(magic)) return ImageFormat::kTiff;
  return ImageFormat::kUnknown;
}

bool has_image_name(const std::filesystem::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end();
}

Result<Tensor> make_image(DType dtype, int64_t channels, int64_t height, int64_t width,
                          const ImageLimits& limits) {
  HONE_ASSIGN(const int64_t count, checked_element_count(Shape{channels, height, width}));
  if (count == 0) return corrupt(fmt::format("an image of {} x {} pixels is empty", width, height));
  if (count > limits.pixels)
    return unsupported(
        fmt::format("an image of {} x {} pixels and {} channels is over the limit of {} numbers", width,
                    height, channels, limits.pixels));
  return Tensor::try_make(dtype, {channels, height, width});
}

void split_channels(const std::byte* interleaved, Tensor& image) {
  const int64_t channels = image.shape()[0], pixels = image.size() / channels;
  switch (dtype_size(image.dtype())) {
    case 1:
      return split_as(reinterpret_cast<const uint8_t*>(interleaved), static_cast<uint8_t*>(image.data()),
                      channels, pixels);
    case 2:
      return split_as(reinterpret_cast<const uint16_t*>(interleaved), static_cast<uint16_t*>(image.data()),
                      channels, pixels);
    case 4:
      return split_as(reinterpret_cast<const uint32_t*>(interleaved), static_cast<uint32_t*>(image.data()),
                      channels, pixels);
    default:
      return split_as(reinterpret_cast<const uint64_t*>(interleaved), static_cast<uint64_t*>(image.data()),
                      channels, pixels);
  }
}

Result<Tensor> decode_image(std::span<const std::byte> bytes, const ImageLimits& limits, Narrow narrow) {
  switch (image_format(bytes)) {
    case ImageFormat::kPng:
      return decode_png(bytes, limits, narrow);
    case ImageFormat::kJpeg:
      return decode_jpeg(bytes, limits);
    case ImageFormat::kNpy:
      return decode_npy_image(bytes, limits);
    case ImageFormat::kTiff: {
      HONE_ASSIGN(const TiffFile tiff, TiffFile::open(bytes, limits, narrow));
      return tiff.read_page(0);
    }
    case ImageFormat::kUnknown:
      break;
  }
  if (bytes.empty()) return corrupt("the file is empty");
  return unsupported("this is no image that hone reads (PNG, JPEG, TIFF, .npy, by its first bytes)");
}

Result<Tensor> read_image(const std::filesystem::path& path, StageTimes& times, const ImageLimits& limits,
                          Narrow narrow) {
  HONE_ASSIGN(const FileBytes file, FileBytes::read(path, times));
  const StageTimer timer(times, Stage::kDecode);
  auto image = decode_image(file.bytes(), limits, narrow);
  if (!image.ok()) return image.error().within(path.string());
  return image;
}

}  // namespace hone::data
