// What there is to say of a program without steps: where its threads were when they ran, what its main thread waited for, and
// what all of them took of the machine.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings.h"
#include "trace/trace.h"

namespace hone::analyze {

struct HotLines {
  double samples = 0;                         // of all threads
  double running = 0;                         // of these: on a CPU
  std::vector<HostLine> lines;                // of those
  double main_samples = 0, main_waiting = 0;  // of the busiest process's main thread
  std::vector<HostLine> waits;                // where that waited
  std::vector<Metric> use;                    // a second
};

HotLines hot_lines(const trace::Trace& trace, std::size_t most = 8);

}  // namespace hone::analyze
