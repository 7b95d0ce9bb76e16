// Made-up microscopy as a data set: sample i of a seed is made when it is read, the same each time.
#pragma once

#include <memory>

#include "data/dataset.h"
#include "data/microscopy.h"

namespace hone::data {

// "image" f32 [channels, height, width] and "mask" u8 [1, height, width]; `options.images` samples.
Result<std::shared_ptr<const Dataset>> synthetic_cells(const MicroscopyOptions& options);

}  // namespace hone::data
