// Synthetic fluorescence microscopy: images of cells as a camera would see them, with the masks that a
// segmentation model should find. For demonstrations and benchmarks without anybody's data; the same seed
// gives the same images.
//
// What is in an image, in the order of the physics: cells (harmonic outlines, uneven inside, soft edges from
// the microscope's point spread) on an uneven background; the illumination's vignetting; shot noise of the
// light and read noise of the camera; a camera that saturates.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "core/tensor.h"

namespace hone::data {

struct MicroscopyOptions {
  int64_t images = 1;
  int64_t channels =
      1;  // stains: each has its own brightness and reaches a little further out from the nucleus
  int64_t height = 256;
  int64_t width = 256;
  double covered = 0.2;      // share of the area that cells take, about: they keep a distance
  double cell_radius = 0;    // mean, pixels; 0: a sixteenth of the shorter side, but 3 to 24
  double photons = 400;      // that a bright pixel collects: fewer is noisier
  double read_noise = 3;     // of the camera, photons
  double background = 0.08;  // mean, relative to a bright cell
  double vignetting = 0.35;  // loss of light in the corners
  uint64_t seed = 1;
};

struct Microscopy {
  Tensor images;  // f32 [images, channels, height, width], in [0, 1]
  Tensor masks;   // u8 [images, 1, height, width]: 1 in cells (the first channel's outline), 0 outside
  int64_t cells = 0;
};

Result<Microscopy> synthesise_microscopy(const MicroscopyOptions& options);

}  // namespace hone::data
