// Augmentation: what is done to image and mask alike before a sample enters its batch. Every strength is 0 at first,
// and then nothing is changed but the image's type: f32, in [0, 1] of its integer type's range.
//
// All that moves pixels is one map from the batch's pixels to the image's, evaluated once: turning, scaling and bending
// an image does not blur it three times. Images are interpolated between four pixels, masks take the nearest.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "data/transform.h"

namespace hone::data {

enum class Normalise : uint8_t {
  kRange,       // integers to [0, 1] of their type's range; floats as they are
  kPercentile,  // the image's own low and high percentile to 0 and 1, channel by channel; not cut off
};

struct AugmentOptions {
  // Which fields are what. Others (labels) are passed on as they are.
  std::vector<std::string> images = {"image"}, masks = {"mask"};

  // What moves pixels. Sizes are {height, width}; {0, 0}: the whole image.
  std::array<int64_t, 2> crop = {0, 0};  // cut from the image
  bool random_crop = true;               // anywhere; else from the middle
  bool pad = false;  // images smaller than the crop are continued by reflection; else an error
  std::array<int64_t, 2> resize = {0, 0};               // of what was cut; {0, 0}: its own size
  bool flip_horizontal = false, flip_vertical = false;  // half of the time each
  bool quarter_turns = false;  // by 0, 90, 180 or 270°; needs what was cut to be square
  double rotate = 0;           // by up to so many degrees, either way
  double scale = 0;            // by up to 1 + scale, larger or smaller
  double elastic = 0;          // pixels by which places are moved, on average (root mean square)
  double elastic_cell = 32;    // pixels: how far apart places move by themselves

  // What changes values, in this order, of the normalised image.
  Normalise normalise = Normalise::kRange;
  double low_percentile = 1, high_percentile = 99.8;
  double brightness = 0;  // adds up to so much, either way
  double contrast = 0;    // stretches around the mean by a factor of 1 ± so much
  double gamma = 0;       // to the power of up to 1 + gamma, or its inverse; values below 0 become 0
  double noise = 0;       // adds normal noise of this standard deviation
  // Last: (value - mean) / deviation by channel; empty: not.
  std::vector<double> mean, deviation;
};

// An error for strengths out of their range.
Result<std::shared_ptr<const Transform>> make_augmentation(const AugmentOptions& options);

}  // namespace hone::data
