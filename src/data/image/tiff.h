// TIFF files: pages of 1, 8, 16, 32 and 64 bits, integer and float, in strips and tiles, channels together or apart,
// with whatever compression libtiff knows; and stacks of pages, as OME-TIFF and ImageJ describe their axes.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "data/image/image.h"
#include "data/image/tiff_axes.h"

namespace hone::data {

// An open file. Not thread-safe: whoever reads opens one of its own, which takes microseconds.
class TiffFile {
 public:
  // `bytes` must live as long as the file.
  static Result<TiffFile> open(std::span<const std::byte> bytes, const ImageLimits& limits = {},
                               Narrow narrow = Narrow::kScaled);
  // Reads only what is asked for: for single pages of large stacks. Errors name the file.
  static Result<TiffFile> open(const std::filesystem::path& path, const ImageLimits& limits = {},
                               Narrow narrow = Narrow::kScaled);
  ~TiffFile();
  TiffFile(TiffFile&&) noexcept;
  TiffFile& operator=(TiffFile&&) noexcept;

  int64_t pages() const;
  // [samples, height, width] of page `page` of [0, pages()).
  Result<Tensor> read_page(int64_t page) const;
  // How pages are a stack: what OME's or ImageJ's description says; else all are depth.
  Result<StackAxes> axes() const;
  // [channels, depth, height, width] at `time`. Samples of a page are channels where the description's are.
  Result<Tensor> read_stack(const StackAxes& axes, int64_t time) const;

  int64_t read_ns() const;  // waited for the file so far, of one that was opened by its path

 private:
  struct State;
  explicit TiffFile(std::unique_ptr<State> state);
  Result<Tensor> decode_page(int64_t page) const;
  std::unique_ptr<State> state_;
};

}  // namespace hone::data
