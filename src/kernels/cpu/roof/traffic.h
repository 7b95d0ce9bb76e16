// Streams over memory: read, write and copy at the rate that a level of the memory hierarchy sustains: the
// memory roofs. Timing and buffer sizes are the caller's (lab/ceilings).
#pragma once

#include <cstddef>

namespace hone::kernels::roof {

// Buffers have a multiple of this size and are aligned to 64 bytes.
inline constexpr std::size_t kTrafficGrain = 1024;

// Each goes over `bytes` bytes, `passes` times, on the calling thread.
void read_memory(const void* source, std::size_t bytes, int passes);
void write_memory(void* target, std::size_t bytes, int passes);
void copy_memory(void* target, const void* source, std::size_t bytes, int passes);
// The same with non-temporal stores, which don't first fetch the line that they overwrite: how to write what
// is larger than the caches.
void stream_memory(void* target, std::size_t bytes, int passes);
void copy_streaming(void* target, const void* source, std::size_t bytes, int passes);

}  // namespace hone::kernels::roof
