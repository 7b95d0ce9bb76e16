// Puts together the series of samples of each device that a segment holds in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "trace/device_samples.h"
#include "trace/segments/record.h"

namespace hone::trace::segments {

class SampleSeries {
 public:
  // `following` is what follows the record; `name_of` tells what a number of a name stands for. False: it is shorter than
  // it says.
  bool read(const DeviceSamples& record, std::string_view following,
            const std::function<StringId(uint32_t)>& name_of);

  // Of each device one, on a clock on which `first_ns` is 0. What began before that is left out, as what does not follow.
  std::vector<trace::DeviceSamples> finish(int64_t first_ns) &&;

 private:
  std::vector<trace::DeviceSamples> pieces_;
};

}  // namespace hone::trace::segments
