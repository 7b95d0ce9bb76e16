// What other programs can have taken of this process's CPUs, where it has more threads at work than CPUs: those that read
// training data beside a step, say. Then threads stand in line behind each other, which is nobody else's doing.
#pragma once

#include <cstdint>

#include "core/contention.h"

namespace hone::lab {

// `share` of a stretch in which this process used `used_ns` of CPU time and could have used `cpus` · `wall_ns`: others had
// no more than it did not use.
ContentionShare without_own_threads(ContentionShare share, int64_t used_ns, int64_t wall_ns, int cpus);

// Of all threads of this process, so far.
int64_t process_cpu_ns();

}  // namespace hone::lab
