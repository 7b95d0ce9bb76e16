// PNG through libpng. Its errors leave by longjmp over frames that own nothing: everything with a destructor lives
// in the caller's frame.
#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <png.h>

#include "data/image/formats.h"

namespace hone::data {
namespace {

struct PngSource {
  std::span<const std::byte> bytes;
  std::size_t position = 0;
  std::string problem;
};

void read_png(png_structp png, png_bytep to, std::size_t count) {
  auto& source = *static_cast<PngSource*>(png_get_io_ptr(png));
  if (source.bytes.size() - source.position < count) png_error(png, "the file ends too early");
  std::memcpy(to, source.bytes.data() + source.position, count);
  source.position += count;
}

void on_png_error(png_structp png, png_const_charp text) {
  auto& source = *static_cast<PngSource*>(png_get_error_ptr(png));
  source.problem = text;
  png_longjmp(png, 1);
}

void on_png_warning(png_structp, png_const_charp) {}  // libraries never print

class PngReader {
 public:
  explicit PngReader(PngSource& source)
      : png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, on_png_error, on_png_warning)) {
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  png_structp png() const { return png_; }
  png_infop info() const { return info_; }
  bool ok() const { return info_ != nullptr; }

 private:
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

struct PngHeader {
  png_uint_32 width = 0, height = 0;
  int channels = 0, bits = 0;
};

// False where libpng gave up.
bool read_png_header(const PngReader& reader, PngSource& source, Narrow narrow, PngHeader& header) {
  png_structp png = reader.png();
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, &source, read_png);
  png_set_user_limits(png, 1u << 30, 1u << 30);
  png_read_info(png, reader.info());
  const int type = png_get_color_type(png, reader.info());
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (type == PNG_COLOR_TYPE_GRAY && narrow == Narrow::kScaled) png_set_expand_gray_1_2_4_to_8(png);
  png_set_packing(png);  // fewer than 8 bits: a byte each, values as they are
  if (png_get_valid(png, reader.info(), PNG_INFO_tRNS) != 0 && type == PNG_COLOR_TYPE_PALETTE)
    png_set_tRNS_to_alpha(png);
  png_set_swap(png);  // 16 bits are big-endian in the file
  png_set_interlace_handling(png);
  png_read_update_info(png, reader.info());
  header.width = png_get_image_width(png, reader.info());
  header.height = png_get_image_height(png, reader.info());
  header.channels = png_get_channels(png, reader.info());
  header.bits = png_get_bit_depth(png, reader.info());
  return true;
}

bool read_png_rows(const PngReader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png())) != 0) return false;
  png_read_image(reader.png(), rows);
  png_read_end(reader.png(), nullptr);
  return true;
}

}  // namespace

Result<Tensor> decode_png(std::span<const std::byte> bytes, const ImageLimits& limits, Narrow narrow) {
  PngSource source{bytes, 0, {}};
  const PngReader reader(source);
  if (!reader.ok()) return invalid("not enough memory to read a PNG file");
  PngHeader header;
  if (!read_png_header(reader, source, narrow, header)) return corrupt("damaged PNG file: " + source.problem);
  const DType dtype = header.bits == 16 ? DType::kU16 : DType::kU8;
  HONE_ASSIGN(Tensor image, make_image(dtype, header.channels, header.height, header.width, limits));
  const std::size_t row_bytes = header.width * static_cast<std::size_t>(header.channels) * dtype_size(dtype);
  std::unique_ptr<std::byte[]> interleaved;
  auto* target = static_cast<std::byte*>(image.data());
  if (header.channels > 1) {
    interleaved = std::make_unique_for_overwrite<std::byte[]>(image.bytes());
    target = interleaved.get();
  }
  std::vector<png_bytep> rows(header.height);
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = reinterpret_cast<png_bytep>(target + y * row_bytes);
  if (!read_png_rows(reader, rows.data())) return corrupt("damaged PNG file: " + source.problem);
  if (interleaved) split_channels(interleaved.get(), image);
  return image;
}

}  // namespace hone::data
