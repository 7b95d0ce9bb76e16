// The host's waits for its device that XLA's profiler leaves out (jax.block_until_ready, most reads of values), told by what
// it does record: a stretch in which the thread that launches does nothing that is recorded, and which ends soon
// after all that it had launched does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace hone::trace::xplane {

struct DeviceWait {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct DeviceWaits {
  std::vector<DeviceWait> waits;  // by time; between two events of the thread each
  // Stretches that look like waits, and are too few of their kind to be taken for any.
  int64_t unclear = 0;
};

// The waits of one thread. `spans` in any order, their correlations tell who launched what. One stretch may end so
// by chance: those that begin and end with the same kinds of events count if most of them do, and at least two. O(n log n).
DeviceWaits find_device_waits(const Trace& trace, std::span<const Span> spans, TrackId thread);

}  // namespace hone::trace::xplane
