// Images and stacks of them, decoded: what the readers of formats give and data sets of images are made of.
//
// An image is a tensor [channels, height, width] in the file's own type (u8, u16, u32, i8, i16, i32, f32, f64),
// a stack of pages [channels, depth, height, width]. Black is 0 and palettes are colours, however the file has them; nothing
// else is scaled or rounded here: that is augmentation's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "core/result.h"
#include "core/tensor.h"
#include "data/stages.h"

namespace hone::data {

// What a file may ask for: a kilobyte can claim to be an image of 16 exabytes.
struct ImageLimits {
  int64_t pixels = int64_t{1} << 31;  // of one image or stack, channels included
};

// What grey samples of fewer than 8 bits become, as u8.
enum class Narrow : uint8_t {
  kScaled,  // to the whole range, as people see them: 1 of one bit is 255. Of images.
  kStored,  // the same numbers: of masks, whose numbers are classes
};

enum class ImageFormat : uint8_t { kUnknown, kPng, kJpeg, kTiff, kNpy };

// By the first bytes, never by the name.
ImageFormat image_format(std::span<const std::byte> bytes);
// Whether a folder's file of this name is taken for an image: .png, .jpg, .jpeg, .tif, .tiff, .npy.
bool has_image_name(const std::filesystem::path& path);

// The first page of a TIFF, all others whole. An error says what is wrong with the bytes, without the file's name.
Result<Tensor> decode_image(std::span<const std::byte> bytes, const ImageLimits& limits = {},
                            Narrow narrow = Narrow::kScaled);

// The same of a file: reading and decoding are told apart, and the error names the file.
Result<Tensor> read_image(const std::filesystem::path& path, StageTimes& times,
                          const ImageLimits& limits = {}, Narrow narrow = Narrow::kScaled);

}  // namespace hone::data
