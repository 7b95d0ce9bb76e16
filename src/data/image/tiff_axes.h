// What the pages of a TIFF file are in a stack: the descriptions that OME-TIFF and ImageJ leave in the first page.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.h"

namespace hone::data {

struct StackAxes {
  int64_t channels = 1, depth = 1, times = 1;
  // Pages between neighbours along each axis: which of the three runs fastest is the file's choice.
  int64_t channel_step = 1, depth_step = 1, time_step = 1;
  int64_t samples = 1;  // channels that one page holds: `channels` counts pages

  int64_t page_of(int64_t channel, int64_t z, int64_t time) const {
    return channel * channel_step + z * depth_step + time * time_step;
  }
};

// Of a file with so many pages of so many samples each. A description that does not fit the pages is an error: the
// stack lies in several files, or its end is missing.
Result<StackAxes> stack_axes(std::string_view description, int64_t pages, int64_t samples);

}  // namespace hone::data
