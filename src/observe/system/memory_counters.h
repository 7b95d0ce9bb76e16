// Memory and what stands still for want of something: /proc/meminfo, /proc/vmstat, /proc/pressure/*.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/live/machine_use.h"

namespace hone::observe::system {

struct MemoryCounters {
  std::optional<int64_t> total_kib, available_kib, swap_total_kib, swap_free_kib;
  std::optional<int64_t> pages_swapped_in, pages_swapped_out;
};

void parse_meminfo(std::string_view text, MemoryCounters& counters);
void parse_vmstat(std::string_view text, MemoryCounters& counters);
void fill_memory_use(const MemoryCounters& before, const MemoryCounters& now, double seconds,
                     trace::live::HostUse& host);

// Time in µs in which some, or all, tasks stood still (Documentation/accounting/psi). The CPU's "full" line
// means nothing for the whole machine and is left out.
struct PressureCounters {
  std::optional<int64_t> some_us, full_us;
};
PressureCounters parse_pressure(std::string_view text);
trace::live::Pressure pressure_between(const PressureCounters& before, const PressureCounters& now,
                                       double seconds);

}  // namespace hone::observe::system
