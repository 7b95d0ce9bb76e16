// CPUs: /proc/stat (time by kind, tasks that run), /proc/loadavg, /proc/schedstat (time in line).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/live/machine_use.h"

namespace hone::observe::system {

// In ticks; what the kernel does not say is 0, as its own counters are.
struct CpuTicks {
  int cpu = -1;  // -1: all together
  int64_t user = 0, system = 0, idle = 0, waiting_for_io = 0, stolen = 0;
  int64_t all() const { return user + system + idle + waiting_for_io + stolen; }
};

struct CpuCounters {
  std::optional<CpuTicks> all;
  std::vector<CpuTicks> each;         // of those that are online
  std::optional<int64_t> runnable;    // tasks that run or could
  std::optional<int64_t> in_line_ns;  // time that tasks stood in line, all together
  std::optional<double> load;         // of the last minute
};

// Adds what the files say; a file that is missing or that is none leaves its part without value.
void parse_stat(std::string_view text, CpuCounters& counters);
void parse_schedstat(std::string_view text, CpuCounters& counters);
void parse_loadavg(std::string_view text, CpuCounters& counters);

// Fills the CPUs' part of `host`.
void fill_cpu_use(const CpuCounters& before, const CpuCounters& now, double seconds,
                  trace::live::HostUse& host);

}  // namespace hone::observe::system
