// For tests: image files written through the libraries' own writers.
#pragma once

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <jpeglib.h>
#include <png.h>
#include <tiffio.h>

#include "core/tensor.h"

namespace hone::data::testing {

// Values that depend on every index; for f32 not whole.
inline Tensor patterned_image(DType dtype, int64_t channels, int64_t height, int64_t width,
                              int64_t number = 0) {
  Tensor image(dtype, {channels, height, width});
  for (int64_t i = 0; i < image.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const uint64_t value = static_cast<uint64_t>(i * 2654435761 + number * 40503 + i / 7);
    if (dtype == DType::kU8) image.as<uint8_t>()[at] = static_cast<uint8_t>(value >> 5);
    if (dtype == DType::kU16) image.as<uint16_t>()[at] = static_cast<uint16_t>(value >> 5);
    if (dtype == DType::kI16) image.as<int16_t>()[at] = static_cast<int16_t>(value >> 5);
    if (dtype == DType::kU32) image.as<uint32_t>()[at] = static_cast<uint32_t>(value >> 3);
    if (dtype == DType::kF32) image.as<float>()[at] = static_cast<float>(value % 1000) / 7 - 50;
    if (dtype == DType::kF64) image.as<double>()[at] = static_cast<double>(value % 1000) / 7 - 50;
  }
  return image;
}

// [C,H,W] to rows of neighbouring channels.
inline std::vector<std::byte> interleaved_bytes(const Tensor& image) {
  const int64_t channels = image.shape()[0], pixels = image.size() / channels;
  const std::size_t size = dtype_size(image.dtype());
  std::vector<std::byte> bytes(image.bytes());
  const auto* from = static_cast<const std::byte*>(image.data());
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < pixels; ++i)
      std::copy_n(from + static_cast<std::size_t>(c * pixels + i) * size, size,
                  bytes.data() + static_cast<std::size_t>(i * channels + c) * size);
  return bytes;
}

// u8 or u16, 1 to 4 channels. `few_bits`: grey of 1, 2 or 4 bits instead of 8.
inline void write_png(const std::filesystem::path& path, const Tensor& image, bool interlaced = false,
                      int few_bits = 8) {
  constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                            PNG_COLOR_TYPE_RGBA};
  const auto channels = static_cast<std::size_t>(image.shape()[0]);
  std::vector<std::byte> bytes = interleaved_bytes(image);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  const auto height = static_cast<png_uint_32>(image.shape()[1]),
             width = static_cast<png_uint_32>(image.shape()[2]);
  const int bits = image.dtype() == DType::kU16 ? 16 : few_bits;
  png_set_IHDR(png, info, width, height, bits, kTypes[channels - 1],
               interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  png_set_swap(png);
  png_set_packing(png);
  std::vector<png_bytep> rows;
  for (png_uint_32 y = 0; y < height; ++y)
    rows.push_back(reinterpret_cast<png_bytep>(bytes.data() + bytes.size() / height * y));
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
}

// u8, 1 or 3 channels. `exif`: what stands behind "Exif"; empty: nothing does.
inline void write_jpeg(const std::filesystem::path& path, const Tensor& image, const std::string& exif = {}) {
  std::vector<std::byte> bytes = interleaved_bytes(image);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  info.image_height = static_cast<JDIMENSION>(image.shape()[1]);
  info.image_width = static_cast<JDIMENSION>(image.shape()[2]);
  info.input_components = static_cast<int>(image.shape()[0]);
  info.in_color_space = info.input_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 98, TRUE);
  jpeg_start_compress(&info, TRUE);
  if (!exif.empty()) {
    const std::string block = std::string("Exif\0\0", 6) + exif;
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(block.data()),
                      static_cast<unsigned>(block.size()));
  }
  while (info.next_scanline < info.image_height) {
    auto* row =
        reinterpret_cast<JSAMPROW>(bytes.data() + bytes.size() / info.image_height * info.next_scanline);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::fclose(file);
}

struct TiffLayout {
  uint32_t tile = 0;  // pixels a side, a multiple of 16; 0: strips
  uint32_t rows_per_strip = 3;
  bool planar = false;  // channels apart
  uint16_t compression = COMPRESSION_NONE;
  uint16_t predictor = 1;
  bool one_bit = false;                // values 0 and 1, packed
  std::string description = {};        // of the first page
  int photometric = -1;                // below 0: black as 0, or RGB
  std::vector<uint16_t> palette = {};  // 256 of each colour
  bool big_endian = false, big_tiff = false;
};

inline void write_tiff_tiles(TIFF* tiff, const std::byte* pixels, uint32_t width, uint32_t height,
                             std::size_t pixel, uint32_t tile, uint16_t plane) {
  std::vector<std::byte> block(std::size_t{tile} * tile * pixel);
  for (uint32_t y = 0; y < height; y += tile)
    for (uint32_t x = 0; x < width; x += tile) {
      std::fill(block.begin(), block.end(), std::byte{0xee});
      for (uint32_t r = 0; r < std::min(tile, height - y); ++r)
        std::copy_n(pixels + (std::size_t{y + r} * width + x) * pixel, std::min(tile, width - x) * pixel,
                    block.data() + std::size_t{r} * tile * pixel);
      TIFFWriteTile(tiff, block.data(), x, y, 0, plane);
    }
}

// A page for each image.
inline void write_tiff(const std::filesystem::path& path, const std::vector<Tensor>& pages,
                       const TiffLayout& layout = {}) {
  const std::string mode = std::string("w") + (layout.big_endian ? "b" : "l") + (layout.big_tiff ? "8" : "");
  TIFF* tiff = TIFFOpen(path.c_str(), mode.c_str());
  if (tiff == nullptr) throw std::runtime_error("cannot write " + path.string());
  for (const Tensor& image : pages) {
    const auto channels = static_cast<uint16_t>(image.shape()[0]);
    const auto height = static_cast<uint32_t>(image.shape()[1]),
               width = static_cast<uint32_t>(image.shape()[2]);
    const std::size_t size = dtype_size(image.dtype());
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, layout.one_bit ? 1 : static_cast<int>(size * 8));
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, channels);
    TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT,
                 is_float(image.dtype())    ? SAMPLEFORMAT_IEEEFP
                 : is_signed(image.dtype()) ? SAMPLEFORMAT_INT
                                            : SAMPLEFORMAT_UINT);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC,
                 layout.photometric >= 0 ? layout.photometric
                 : channels >= 3         ? PHOTOMETRIC_RGB
                                         : PHOTOMETRIC_MINISBLACK);
    if (const uint16_t* colours = layout.palette.data())
      TIFFSetField(tiff, TIFFTAG_COLORMAP, colours, colours + 256, colours + 512);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, layout.planar ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, layout.compression);
    if (layout.predictor != 1) TIFFSetField(tiff, TIFFTAG_PREDICTOR, layout.predictor);
    if (&image == pages.data() && !layout.description.empty())
      TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, layout.description.c_str());
    const std::vector<std::byte> mixed = interleaved_bytes(image);
    const auto* apart = static_cast<const std::byte*>(image.data());
    const std::size_t plane_bytes = image.bytes() / channels;
    if (layout.tile != 0) {
      TIFFSetField(tiff, TIFFTAG_TILEWIDTH, layout.tile);
      TIFFSetField(tiff, TIFFTAG_TILELENGTH, layout.tile);
      if (!layout.planar)
        write_tiff_tiles(tiff, mixed.data(), width, height, size * channels, layout.tile, 0);
      for (uint16_t s = 0; layout.planar && s < channels; ++s)
        write_tiff_tiles(tiff, apart + s * plane_bytes, width, height, size, layout.tile, s);
    } else {
      TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, layout.rows_per_strip);
      for (uint16_t s = 0; s < (layout.planar ? channels : 1); ++s)
        for (uint32_t y = 0; y < height; ++y) {
          const std::byte* row = layout.planar ? apart + s * plane_bytes + plane_bytes / height * y
                                               : mixed.data() + mixed.size() / height * y;
          std::vector<std::byte> copy(row, row + (layout.planar ? plane_bytes : mixed.size()) / height);
          if (layout.one_bit) {
            std::vector<std::byte> bits((width + 7) / 8);
            for (uint32_t x = 0; x < width; ++x) bits[x / 8] |= row[x] << (7 - x % 8);
            copy = bits;
          }
          TIFFWriteScanline(tiff, copy.data(), y, s);
        }
    }
    TIFFWriteDirectory(tiff);
  }
  TIFFClose(tiff);
}

}  // namespace hone::data::testing
