// What a program took of its devices' memory, in words.
#pragma once

#include <string>
#include <vector>

#include "analyze/memory/memory_findings.h"

namespace hone::report {

std::string memory_heading(const analyze::DeviceMemory& device);  // "Memory of GPU 0"
// Sentences: the most at once, what the allocator had on top, what it could not have.
std::vector<std::string> memory_sentences(const analyze::DeviceMemory& device);
// "28 tensors"
std::string holding_blocks(const analyze::MemoryHolding& holding);

}  // namespace hone::report
