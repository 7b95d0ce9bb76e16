// What the process has taken of the machine's memory, as the system counts it: what plans, data, programs and libraries take
// together. What each of them is reckoned to take is told by who makes it (plan_memory.h, training/memory.h).
#pragma once

#include <cstddef>

namespace hone::lab {

// Bytes: the most of the process that has been in the machine's memory, programs and libraries included.
std::size_t resident_peak();

}  // namespace hone::lab
