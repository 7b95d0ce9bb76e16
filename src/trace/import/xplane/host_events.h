// What the events of the host's threads mean: XLA's runtime, JAX and TensorFlow mark what they do by names of
// their own (TraceMe), among which stand those that the program gives.
#pragma once

#include <span>
#include <string_view>

#include "trace/name_patterns.h"
#include "trace/trace.h"

namespace hone::trace::xplane {

enum class HostMeaning : uint8_t {
  kRange,        // a range that the program named, or may have
  kInternal,     // of the runtime: what it does is of no use to the program's author
  kMarker,       // nothing that takes time
  kWait,         // the host waits for results
  kCompile,      // XLA compiles
  kInput,        // the framework prepares input
  kTransfer,     // the host moves data to or from a device
  kPythonFrame,  // "$train.py:31 step": a call of a Python function
};

std::span<const NamePattern<HostMeaning>> host_event_table();
HostMeaning host_meaning(std::string_view name);

// "$train.py:31 step" → "train.py(31): step", as PyTorch's profiler writes it.
std::string python_frame(std::string_view name);

}  // namespace hone::trace::xplane
