// How a camera was held, which it writes beside the pixels: the orientation of an Exif block (CIPA DC-008, section 4.6.4;
// tag 274). Nothing else of Exif is read.
#pragma once

#include <cstddef>
#include <span>

#include "core/result.h"
#include "core/tensor.h"

namespace hone::data {

// 1 to 8 of the bytes behind "Exif\0\0"; 1, as the pixels lie, where they do not say it or say it wrongly: viewers do the
// same, and the pixels are none the worse.
int exif_orientation(std::span<const std::byte> tiff);

// Pixels u8 [C, H, W] of an image of that orientation as they are to be seen; of 5 to 8 height and width change places.
Result<Tensor> upright(const Tensor& image, int orientation);

}  // namespace hone::data
