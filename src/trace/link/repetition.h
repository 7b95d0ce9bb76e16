// Steps of a program that nobody marked: from the sequence of what it launched (or, without devices, called),
// and from what happens once in a step: the optimizer, a batch that arrives, where that says too little, that the host
// waits for the device.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/link/launches.h"
#include "trace/link/roles.h"
#include "trace/span_nesting.h"

namespace hone::trace::link {

struct Repetition {
  // Where steps begin on the host, and where the last one ends: one more than there are steps.
  std::vector<int64_t> bounds_ns;
  std::string
      what;  // "412 launches, each ending with the optimizer"; of what is none, why it is not, if known
  double confidence = 0;  // 0 to 1
  std::vector<std::string> notes;

  bool found() const { return bounds_ns.size() >= 3; }
};

// For one rank. Not found: fewer than two steps.
Repetition find_repetition(const Trace& trace, int rank, const SpanNesting& nesting,
                           std::span<const DeviceWork> work, const std::vector<Role>& roles);

}  // namespace hone::trace::link
