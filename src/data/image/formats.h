// The decoders behind image.h, one a format. Internal to data/image.
#pragma once

#include <cstddef>
#include <span>

#include "data/image/image.h"

namespace hone::data {

// 1 to 16 bits, grey, palette and colour, with alpha; interlaced, too. Palettes become colours.
Result<Tensor> decode_png(std::span<const std::byte> bytes, const ImageLimits& limits, Narrow narrow);
// Grey as one channel, all else as RGB; turned as its camera was held.
Result<Tensor> decode_jpeg(std::span<const std::byte> bytes, const ImageLimits& limits);

// An image to be filled: an error for one that is empty or beyond the limits.
Result<Tensor> make_image(DType dtype, int64_t channels, int64_t height, int64_t width,
                          const ImageLimits& limits);
// Channels next to each other, as files have them, into planes.
void split_channels(const std::byte* interleaved, Tensor& image);

}  // namespace hone::data
