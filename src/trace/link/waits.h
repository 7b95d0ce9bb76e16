// Steps that are told by what the host waits for: of a program whose launches are all alike, or repeat after a few,
// that it waits for the device after as many launches each time says where a step ends. Knows nothing of time and
// traces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone::trace::link {

// A sequence of launches with less of a period than this says little of steps: a part of a layer repeats so, too.
inline constexpr double kShortPeriod = 16;

struct WaitPeriod {
  double length = 0;  // launches from one wait to the next; 0: they do not come regularly
  // Waits that steps begin after, as the number of launches before each; of waits without a launch between them one.
  std::vector<uint32_t> places;

  bool found() const { return length > 0; }
};

// `places`: how many launches there were before each wait of one kind, ascending. `breaks`: how many before each moment
// at which the recording was interrupted, ascending; what lies between waits on two sides of one is not counted.
// Found: at least three times in a row, almost always after as many launches, and those more than one.
WaitPeriod find_wait_period(std::span<const uint32_t> places, std::span<const uint32_t> breaks = {});

}  // namespace hone::trace::link
