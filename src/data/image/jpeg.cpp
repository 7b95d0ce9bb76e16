// JPEG through libjpeg-turbo. Its errors leave by longjmp over frames that own nothing.
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <jerror.h>
#include <jpeglib.h>

#include "data/image/exif.h"
#include "data/image/formats.h"

namespace hone::data {
namespace {

struct JpegErrors {
  jpeg_error_mgr manager;  // first: libjpeg hands its address back
  std::jmp_buf back;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void on_jpeg_error(j_common_ptr common) {
  auto& errors = *reinterpret_cast<JpegErrors*>(common->err);
  common->err->format_message(common, errors.text);
  std::longjmp(errors.back, 1);
}

// Warnings that mean missing or wrong pixels are damage: half an image would be learnt from. Others, such as bytes
// too many between markers, are in many files that cameras wrote.
void on_jpeg_message(j_common_ptr common, int level) {
  if (level >= 0) return;
  const int code = common->err->msg_code;
  if (code == JWRN_HIT_MARKER || code == JWRN_JPEG_EOF || code == JWRN_HUFF_BAD_CODE) on_jpeg_error(common);
}

class JpegReader {
 public:
  JpegReader() {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = on_jpeg_error;
    errors_.manager.emit_message = on_jpeg_message;
    errors_.text[0] = '\0';
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // Each false where libjpeg gave up; problem() says why.
  bool read_header(std::span<const std::byte> bytes) {
    if (setjmp(errors_.back) != 0) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = info_.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_calc_output_dimensions(&info_);
    return true;
  }
  bool read_rows(std::byte* to, std::size_t row_bytes) {
    if (setjmp(errors_.back) != 0) return false;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = reinterpret_cast<JSAMPROW>(to + info_.output_scanline * row_bytes);
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }
  const jpeg_decompress_struct& info() const { return info_; }
  // Behind read_header(): the first Exif block's.
  int orientation() const {
    static constexpr std::string_view kExif("Exif\0\0", 6);
    for (const jpeg_marker_struct* marker = info_.marker_list; marker != nullptr; marker = marker->next) {
      const auto block = std::as_bytes(std::span(marker->data, marker->data_length));
      if (block.size() > kExif.size() && std::memcmp(block.data(), kExif.data(), kExif.size()) == 0)
        return exif_orientation(block.subspan(kExif.size()));
    }
    return 1;
  }
  std::string problem() const { return std::string("damaged JPEG file: ") + errors_.text; }

 private:
  jpeg_decompress_struct info_ = {};
  JpegErrors errors_;
};

}  // namespace

Result<Tensor> decode_jpeg(std::span<const std::byte> bytes, const ImageLimits& limits) {
  JpegReader reader;
  if (!reader.read_header(bytes)) return corrupt(reader.problem());
  if (reader.info().num_components == 4)
    return unsupported("this JPEG file is CMYK; convert it to RGB or grey");
  const int64_t channels = reader.info().num_components == 1 ? 1 : 3;
  const auto width = static_cast<int64_t>(reader.info().output_width);
  HONE_ASSIGN(Tensor image, make_image(DType::kU8, channels, reader.info().output_height, width, limits));
  std::unique_ptr<std::byte[]> interleaved;
  auto* target = static_cast<std::byte*>(image.data());
  if (channels > 1) {
    interleaved = std::make_unique_for_overwrite<std::byte[]>(image.bytes());
    target = interleaved.get();
  }
  const int orientation = reader.orientation();
  if (!reader.read_rows(target, static_cast<std::size_t>(width * channels))) return corrupt(reader.problem());
  if (interleaved) split_channels(interleaved.get(), image);
  return upright(image, orientation);
}

}  // namespace hone::data
