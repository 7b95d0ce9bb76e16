// At which lines of its source a kernel's warps were found, and what they waited for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyze/device/kernels/counter_group.h"
#include "analyze/findings.h"
#include "trace/trace.h"

namespace hone::analyze::device {

inline constexpr std::size_t kHotLines = 5;

struct KernelLines {
  double samples = 0;          // of all lines
  std::string line_info;       // of most of the samples: trace::line_info_name
  std::vector<HotLine> lines;  // hottest first
};

// The lines with most of the samples of that kernel and geometry, at most kHotLines and none below a hundredth. Where the
// source of an instruction is not known, its place in the code stands for the line. No samples: it was not sampled.
KernelLines hot_lines(const trace::Trace& trace, const CounterGroup& kernel);

}  // namespace hone::analyze::device
