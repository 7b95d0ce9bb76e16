// What the profiler's memory events say (profile_memory=True): every tensor's memory that was taken and given back, and
// by whom.
#pragma once

#include <memory>
#include <span>

#include "trace/allocator_history.h"
#include "trace/import/kineto/rows.h"
#include "trace/trace.h"

namespace hone::trace::kineto {

// A row on the track of the thread that it is of; invalid: nothing else stands there.
struct MemoryOnTrack {
  MemoryRow row;  // times since the trace's first span
  TrackId track;
};

// Of the devices; of a program that uses none, of the host. Null: no rows. The trace has its spans: who took memory is the
// line of the program around it, where stacks were recorded, and the outermost operator.
std::shared_ptr<const AllocatorHistory> memory_history(const Trace& trace, std::vector<MemoryOnTrack> rows);

}  // namespace hone::trace::kineto
