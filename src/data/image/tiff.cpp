// TIFF through libtiff 4.5, whose errors and limits belong to one open file: nothing is printed, nothing global is
// set.
#include "data/image/tiff.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/descriptor.h"
#include "data/image/formats.h"

namespace hone::data {
namespace {

constexpr int64_t kMostPagesOfFile = 1 << 20;

struct TiffClose {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
struct FreeOptions {
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

}  // namespace

// Where the bytes come from, and the first error since it was last asked. Its address is libtiff's handle.
struct TiffFile::State {
  std::span<const std::byte> bytes;  // of the whole file, or
  int descriptor = -1;               // what to read it from
  uint64_t size = 0;
  uint64_t position = 0;
  int64_t read_ns = 0;
  std::string name;  // of the file; empty: the caller knows
  std::string problem;
  ImageLimits limits;
  Narrow narrow = Narrow::kScaled;
  std::unique_ptr<TIFF, TiffClose> tiff;

  ~State() {
    tiff.reset();
    if (descriptor >= 0) ::close(descriptor);
  }

  Error damaged(const std::string& where) {
    std::string text = where + std::exchange(problem, {});
    return corrupt(name.empty() ? text : name + ": " + text);
  }
  Error named(const Error& error) const { return name.empty() ? error : error.within(name); }

  static tmsize_t read(thandle_t handle, void* to, tmsize_t count);
  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t seek(thandle_t handle, toff_t offset, int whence);
  static int close(thandle_t) { return 0; }
  static toff_t size_of(thandle_t handle) { return static_cast<State*>(handle)->size; }
  static int map(thandle_t handle, void** base, toff_t* size);
  static void unmap(thandle_t, void*, toff_t) {}
  static int on_error(TIFF*, void* state, const char* module, const char* format, va_list arguments);
  static int on_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

  Status open();
};

tmsize_t TiffFile::State::read(thandle_t handle, void* to, tmsize_t count) {
  auto& state = *static_cast<State*>(handle);
  if (count <= 0 || state.position >= state.size) return 0;
  const auto wanted = std::min<uint64_t>(static_cast<uint64_t>(count), state.size - state.position);
  if (state.descriptor < 0) {
    std::memcpy(to, state.bytes.data() + state.position, wanted);
    state.position += wanted;
    return static_cast<tmsize_t>(wanted);
  }
  const int64_t start = now_ns();
  uint64_t done = 0;
  while (done < wanted) {
    const ssize_t got = ::pread(state.descriptor, static_cast<char*>(to) + done, wanted - done,
                                static_cast<off_t>(state.position + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<uint64_t>(got);
  }
  state.read_ns += now_ns() - start;
  state.position += done;
  return static_cast<tmsize_t>(done);
}

toff_t TiffFile::State::seek(thandle_t handle, toff_t offset, int whence) {
  auto& state = *static_cast<State*>(handle);
  state.position = whence == SEEK_SET   ? offset
                   : whence == SEEK_CUR ? state.position + offset
                                        : state.size + offset;
  return state.position;
}

int TiffFile::State::map(thandle_t handle, void** base, toff_t* size) {
  auto& state = *static_cast<State*>(handle);
  if (state.descriptor >= 0) return 0;
  *base = const_cast<std::byte*>(state.bytes.data());  // libtiff's interface; it is opened for reading
  *size = state.bytes.size();
  return 1;
}

int TiffFile::State::on_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  auto& state = *static_cast<State*>(user);
  if (!state.problem.empty()) return 1;
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  state.problem = text;
  return 1;
}

Status TiffFile::State::open() {
  const std::unique_ptr<TIFFOpenOptions, FreeOptions> options(TIFFOpenOptionsAlloc());
  if (!options) return invalid("not enough memory to open a TIFF file");
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, this);
  const int64_t most = std::min<int64_t>(limits.pixels * 8, int64_t{1} << 33);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), static_cast<tmsize_t>(most));
  // r: read; O: directories only as asked for; large files' strip tables too.
  tiff.reset(
      TIFFClientOpenExt("image", "rO", this, read, write, seek, close, size_of, map, unmap, options.get()));
  if (!tiff) return damaged("damaged TIFF file: ");
  return {};
}

TiffFile::TiffFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
TiffFile::~TiffFile() = default;
TiffFile::TiffFile(TiffFile&&) noexcept = default;
TiffFile& TiffFile::operator=(TiffFile&&) noexcept = default;

Result<TiffFile> TiffFile::open(std::span<const std::byte> bytes, const ImageLimits& limits, Narrow narrow) {
  auto state = std::make_unique<State>();
  state->bytes = bytes;
  state->size = bytes.size();
  state->limits = limits;
  state->narrow = narrow;
  HONE_CHECK(state->open());
  return TiffFile(std::move(state));
}

Result<TiffFile> TiffFile::open(const std::filesystem::path& path, const ImageLimits& limits, Narrow narrow) {
  auto state = std::make_unique<State>();
  state->name = path.string();
  state->limits = limits;
  state->narrow = narrow;
  state->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (state->descriptor < 0)
    return Error{errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                 fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno))};
  struct stat status {};
  if (::fstat(state->descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return invalid(fmt::format("cannot read '{}': it is not a file", path.string()));
  state->size = static_cast<uint64_t>(status.st_size);
  HONE_CHECK(state->open());
  return TiffFile(std::move(state));
}

int64_t TiffFile::read_ns() const { return state_->read_ns; }

int64_t TiffFile::pages() const {
  return std::min<int64_t>(static_cast<int64_t>(TIFFNumberOfDirectories(state_->tiff.get())),
                           kMostPagesOfFile);
}

namespace {

// How the pixels of a page lie.
struct PageLayout {
  uint32_t width = 0, height = 0;
  uint16_t bits = 1, samples = 1, format = SAMPLEFORMAT_UINT;
  uint16_t photometric = PHOTOMETRIC_MINISBLACK;
  bool planar = false, tiled = false;
  DType dtype = DType::kUndefined;
};

DType tiff_dtype(uint16_t bits, uint16_t format) {
  if (format == SAMPLEFORMAT_IEEEFP)
    return bits == 16 ? DType::kF16 : bits == 32 ? DType::kF32 : bits == 64 ? DType::kF64 : DType::kUndefined;
  const bool is_signed_type = format == SAMPLEFORMAT_INT;
  if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID && !is_signed_type) return DType::kUndefined;
  switch (bits) {
    case 1:
      return DType::kU8;
    case 8:
      return is_signed_type ? DType::kI8 : DType::kU8;
    case 16:
      return is_signed_type ? DType::kI16 : DType::kU16;
    case 32:
      return is_signed_type ? DType::kI32 : DType::kU32;
    case 64:
      return is_signed_type ? DType::kI64 : DType::kU64;
    default:
      return DType::kUndefined;
  }
}

// Whether the page's numbers mean what hone takes them for, once they are as people see them (as_seen).
Status check_photometric(const PageLayout& page, uint16_t compression) {
  switch (page.photometric) {
    case PHOTOMETRIC_MINISWHITE:
      if (page.format != SAMPLEFORMAT_IEEEFP) return {};
      return unsupported("its white is the least floating-point number; save it with black as the least");
    case PHOTOMETRIC_PALETTE:
      if (page.bits == 8 && page.samples == 1) return {};
      return unsupported(fmt::format("its palette is of {} bits and {} samples; save it as RGB or grey",
                                     page.bits, page.samples));
    case PHOTOMETRIC_YCBCR:
      if (compression == COMPRESSION_JPEG) return {};
      return unsupported("its colours are YCbCr without JPEG; save it as RGB or grey");
    case PHOTOMETRIC_CIELAB:
    case PHOTOMETRIC_ICCLAB:
    case PHOTOMETRIC_ITULAB:
    case PHOTOMETRIC_LOGL:
    case PHOTOMETRIC_LOGLUV:
      return unsupported("its colours are Lab or logarithms; save it as RGB or grey");
    default:
      return {};
  }
}

Result<PageLayout> page_layout(TIFF* tiff) {
  PageLayout page;
  uint16_t planar = PLANARCONFIG_CONTIG, compression = COMPRESSION_NONE;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &page.width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &page.height);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &page.bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &page.samples);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &page.format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &page.photometric);
  if (TIFFIsCODECConfigured(compression) == 0)
    return unsupported(
        fmt::format("its compression ({}) is not known to this libtiff; save it with deflate, zstd or "
                    "LZW",
                    compression));
  HONE_CHECK(check_photometric(page, compression));
  if (page.photometric == PHOTOMETRIC_YCBCR) TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  page.planar = planar == PLANARCONFIG_SEPARATE && page.samples > 1;
  page.tiled = TIFFIsTiled(tiff) != 0;
  page.dtype = tiff_dtype(page.bits, page.format);
  if (page.dtype == DType::kUndefined || (page.bits == 1 && page.samples != 1))
    return unsupported(
        fmt::format("its samples have {} bits of format {}; hone reads 1, 8, 16, 32 and 64 bits, integer "
                    "and float; save it as one of them",
                    page.bits, page.format));
  return page;
}

// Copies a block of pixels, `stride` bytes a row, into the planes of an image; cut off at the image's edges.
struct BlockCopy {
  const PageLayout& page;
  Tensor& image;

  void copy(const std::byte* block, std::size_t stride, uint32_t x, uint32_t y, uint32_t columns,
            uint32_t rows, uint16_t plane) const {
    const std::size_t element = dtype_size(page.dtype);
    auto* const base = static_cast<std::byte*>(image.data());
    for (uint32_t row = 0; row < rows; ++row) {
      const std::byte* from = block + row * stride;
      const std::size_t at = (static_cast<std::size_t>(y + row) * page.width + x) * element;
      const std::size_t plane_bytes = static_cast<std::size_t>(page.width) * page.height * element;
      if (page.bits == 1)
        unpack_bits(from, base + at, columns);
      else if (page.planar || page.samples == 1)
        std::memcpy(base + plane * plane_bytes + at, from, columns * element);
      else
        split_row(from, base + at, plane_bytes, columns, element);
    }
  }

 private:
  static void unpack_bits(const std::byte* from, std::byte* to, uint32_t columns) {
    for (uint32_t i = 0; i < columns; ++i) to[i] = (from[i / 8] >> (7 - i % 8)) & std::byte{1};
  }
  template <typename T>
  void split_row_as(const std::byte* from, std::byte* to, std::size_t plane_bytes, uint32_t columns) const {
    const auto* source = reinterpret_cast<const T*>(from);
    for (uint16_t s = 0; s < page.samples; ++s) {
      auto* target = reinterpret_cast<T*>(to + s * plane_bytes);
      for (uint32_t i = 0; i < columns; ++i)
        target[i] = source[static_cast<std::size_t>(i) * page.samples + s];
    }
  }
  void split_row(const std::byte* from, std::byte* to, std::size_t plane_bytes, uint32_t columns,
                 std::size_t element) const {
    if (element == 1) return split_row_as<uint8_t>(from, to, plane_bytes, columns);
    if (element == 2) return split_row_as<uint16_t>(from, to, plane_bytes, columns);
    if (element == 4) return split_row_as<uint32_t>(from, to, plane_bytes, columns);
    return split_row_as<uint64_t>(from, to, plane_bytes, columns);
  }
};

// The colours of a page of numbers of a palette. Files have 16 bits a colour, of which the upper 8 count; some wrote 8.
Result<Tensor> colours_of(TIFF* tiff, const Tensor& numbers, const ImageLimits& limits) {
  constexpr std::size_t kColours = 256;
  std::array<const uint16_t*, 3> map{};
  if (TIFFGetField(tiff, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]) == 0)
    return corrupt("its palette is missing");
  const bool is_wide = std::any_of(map.begin(), map.end(), [](const uint16_t* colours) {
    return *std::max_element(colours, colours + kColours) > 255;
  });
  HONE_ASSIGN(Tensor image, make_image(DType::kU8, 3, numbers.shape()[1], numbers.shape()[2], limits));
  const auto from = numbers.as<uint8_t>();
  auto* to = image.as<uint8_t>().data();
  for (const uint16_t* colours : map)
    to = std::transform(from.begin(), from.end(), to, [&](uint8_t number) {
      return static_cast<uint8_t>(is_wide ? colours[number] >> 8 : colours[number]);
    });
  return image;
}

// A page as people see it: 0 is black, palettes are colours.
Result<Tensor> as_seen(TIFF* tiff, const PageLayout& page, Tensor image, Narrow narrow,
                       const ImageLimits& limits) {
  if (page.photometric == PHOTOMETRIC_PALETTE) return colours_of(tiff, image, limits);
  if (page.photometric == PHOTOMETRIC_MINISWHITE) {  // of the first plane: what follows is alpha
    const std::byte ones{static_cast<uint8_t>(page.bits == 1 ? 1 : 0xff)};
    const std::span bytes(static_cast<std::byte*>(image.data()), image.bytes() / page.samples);
    for (std::byte& byte : bytes) byte ^= ones;
  }
  if (page.bits == 1 && narrow == Narrow::kScaled)
    for (uint8_t& value : image.as<uint8_t>()) value = value == 0 ? 0 : 255;
  return image;
}

// A few bytes can claim tiles of any size: a small image may lie in one that is larger, but not by much.
Status check_tile(const PageLayout& page, uint32_t tile_width, uint32_t tile_height, tmsize_t bytes) {
  constexpr uint64_t kAlwaysTaken = uint64_t{64} << 20;  // bytes
  const auto rounded_up = [](uint32_t extent) { return (uint64_t{extent} + 15) / 16 * 16; };
  const uint64_t of_image = rounded_up(page.width) * rounded_up(page.height) * page.samples * page.bits / 8;
  if (static_cast<uint64_t>(bytes) <= std::max(of_image, kAlwaysTaken)) return {};
  return corrupt(fmt::format("its tiles of {} x {} pixels are far larger than its {} x {} pixels", tile_width,
                             tile_height, page.width, page.height));
}

// False where libtiff gave up on a block.
bool read_tiles(TIFF* tiff, const PageLayout& page, const BlockCopy& copy, std::string& where) {
  uint32_t tile_width = 0, tile_height = 0;
  TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &tile_width);
  TIFFGetField(tiff, TIFFTAG_TILELENGTH, &tile_height);
  const tmsize_t bytes = TIFFTileSize(tiff), stride = TIFFTileRowSize(tiff);
  if (bytes <= 0 || stride <= 0 || tile_width == 0 || tile_height == 0) return false;
  if (const Status fits = check_tile(page, tile_width, tile_height, bytes); !fits.ok()) {
    where = fits.error().message;
    return false;
  }
  const auto tile = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  for (uint16_t plane = 0; plane < (page.planar ? page.samples : 1); ++plane)
    for (uint32_t y = 0; y < page.height; y += std::min(tile_height, page.height - y))
      for (uint32_t x = 0; x < page.width; x += std::min(tile_width, page.width - x)) {
        const uint32_t number = TIFFComputeTile(tiff, x, y, 0, plane);
        if (TIFFReadEncodedTile(tiff, number, tile.get(), bytes) != bytes) {
          where = fmt::format("tile {}: ", number);
          return false;
        }
        copy.copy(tile.get(), static_cast<std::size_t>(stride), x, y, std::min(tile_width, page.width - x),
                  std::min(tile_height, page.height - y), plane);
      }
  return true;
}

bool read_strips(TIFF* tiff, const PageLayout& page, const BlockCopy& copy, std::string& where) {
  uint32_t rows_per_strip = 0;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &rows_per_strip);
  const tmsize_t stride = TIFFScanlineSize(tiff);
  rows_per_strip = std::min(rows_per_strip, page.height);
  if (stride <= 0 || rows_per_strip == 0) return false;
  const auto stride_bytes = static_cast<std::size_t>(stride);
  // Rows of one plane are decoded where they belong; others go through a buffer.
  const bool direct = page.bits != 1 && (page.planar || page.samples == 1) &&
                      stride_bytes == page.width * dtype_size(page.dtype);
  const std::unique_ptr<std::byte[]> strip =
      direct ? nullptr : std::make_unique_for_overwrite<std::byte[]>(rows_per_strip * stride_bytes);
  for (uint16_t plane = 0; plane < (page.planar ? page.samples : 1); ++plane)
    for (uint32_t y = 0; y < page.height; y += std::min(rows_per_strip, page.height - y)) {
      const uint32_t rows = std::min(rows_per_strip, page.height - y);
      const uint32_t number = TIFFComputeStrip(tiff, y, plane);
      const auto bytes = static_cast<tmsize_t>(rows * stride_bytes);
      std::byte* target = strip.get();
      if (direct)
        target = static_cast<std::byte*>(copy.image.data()) +
                 (static_cast<std::size_t>(plane) * page.height + y) * stride_bytes;
      if (TIFFReadEncodedStrip(tiff, number, target, bytes) != bytes) {
        where = fmt::format("strip {}: ", number);
        return false;
      }
      if (!direct) copy.copy(target, stride_bytes, 0, y, page.width, rows, plane);
    }
  return true;
}

}  // namespace

Result<Tensor> TiffFile::decode_page(int64_t number) const {
  TIFF* const tiff = state_->tiff.get();
  if (TIFFSetDirectory(tiff, static_cast<tdir_t>(number)) == 0)
    return state_->damaged(fmt::format("page {}: ", number));
  const auto within = [&](const Error& error) {
    return state_->named(error.within(fmt::format("page {}", number)));
  };
  const auto page = page_layout(tiff);
  if (!page.ok()) return within(page.error());
  auto image = make_image(page->dtype, page->samples, page->height, page->width, state_->limits);
  if (!image.ok()) return within(image.error());
  std::string where;
  const BlockCopy copy{*page, *image};
  const bool read =
      page->tiled ? read_tiles(tiff, *page, copy, where) : read_strips(tiff, *page, copy, where);
  if (!read) return state_->damaged(fmt::format("page {}: {}", number, where));
  auto seen = as_seen(tiff, *page, *std::move(image), state_->narrow, state_->limits);
  if (!seen.ok()) return within(seen.error());
  return seen;
}

Result<Tensor> TiffFile::read_page(int64_t page) const {
  HONE_ASSIGN(Tensor image, decode_page(page));
  if (image.dtype() != DType::kF16) return image;
  Tensor wide(DType::kF32, image.shape());
  const auto from = std::as_const(image).as<uint16_t>();
  std::transform(from.begin(), from.end(), wide.as<float>().begin(), f16_to_f32);
  return wide;
}

Result<StackAxes> TiffFile::axes() const {
  TIFF* const tiff = state_->tiff.get();
  const int64_t count = pages();
  if (TIFFSetDirectory(tiff, 0) == 0) return state_->damaged("page 0: ");
  const char* description = nullptr;
  uint16_t samples = 1;
  TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &description);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
  auto axes = stack_axes(description == nullptr ? "" : description, count, std::max<int64_t>(samples, 1));
  if (!axes.ok()) return state_->named(axes.error());
  return axes;
}

Result<Tensor> TiffFile::read_stack(const StackAxes& axes, int64_t time) const {
  Tensor stack;
  for (int64_t z = 0; z < axes.depth; ++z)
    for (int64_t c = 0; c < axes.channels; ++c) {
      const int64_t number = axes.page_of(c, z, time);
      HONE_ASSIGN(const Tensor page, read_page(number));
      const int64_t height = page.shape()[1], width = page.shape()[2];
      if (!stack.defined()) {
        const Shape shape = {axes.channels * axes.samples, axes.depth, height, width};
        const auto count = checked_element_count(shape);
        if (!count.ok() || *count > state_->limits.pixels)
          return state_->named(unsupported(fmt::format("a stack of {} is over the limit of {} numbers",
                                                       shape_text(shape), state_->limits.pixels)));
        HONE_ASSIGN(stack, Tensor::try_make(page.dtype(), shape));
      }
      if (page.dtype() != stack.dtype() ||
          page.shape() != Shape{axes.samples, stack.shape()[2], stack.shape()[3]})
        return state_->named(
            unsupported(fmt::format("page {} is {}{}, unlike page 0: pages of a stack have one size and "
                                    "type; read them as single images",
                                    number, dtype_name(page.dtype()), shape_text(page.shape()))));
      const std::size_t plane = page.bytes() / static_cast<std::size_t>(axes.samples);
      for (int64_t s = 0; s < axes.samples; ++s)
        std::memcpy(static_cast<std::byte*>(stack.data()) +
                        static_cast<std::size_t>((c * axes.samples + s) * axes.depth + z) * plane,
                    static_cast<const std::byte*>(page.data()) + static_cast<std::size_t>(s) * plane, plane);
    }
  return stack;
}

}  // namespace hone::data
