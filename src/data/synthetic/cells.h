// Synthetic microscopy (microscopy.h) as samples to train on: an image each, and the mask of its cells.
#pragma once

#include <cstdint>
#include <memory>

#include "core/result.h"
#include "data/dataset.h"
#include "data/microscopy.h"

namespace hone::data {

// `images` of the options are the samples; the seed of sample i follows from theirs. Fields: "image" f32 [channels,
// height, width], "mask" u8 [1, height, width]. A sample is made when it is read.
Result<std::shared_ptr<const Dataset>> make_cells(const MicroscopyOptions& options);

}  // namespace hone::data
