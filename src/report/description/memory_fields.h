// The table of what takes memory, and its description; apart from analysis.h, which fewer files need then.
#pragma once

#include "analyze/memory/memory_findings.h"
#include "report/description/table.h"

namespace hone::report {

const Fields<analyze::MemoryHolding>& memory_holding_fields();
const Fields<analyze::MemoryMoment>& memory_moment_fields();
const Fields<analyze::DeviceMemory>& device_memory_fields();

// The first `most` holdings.
Grid memory_grid(const analyze::Analysis& analysis, const analyze::DeviceMemory& device, Form form,
                 std::size_t most);
// Of a snapshot of memory, which has no times.
bool is_of_memory_alone(const analyze::Analysis& analysis);
// Of an analysis that may have none.
const std::vector<analyze::DeviceMemory>& memory_of(const analyze::Analysis& analysis);

}  // namespace hone::report
