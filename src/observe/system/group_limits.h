// What the control group that hone runs in may take: in a container the machine's own figures are not the limit.
// Both versions of cgroups (Documentation/admin-guide/cgroup-v2, cgroup-v1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/system/text_fields.h"
#include "trace/live/machine_use.h"

namespace hone::observe::system {

struct GroupCounters {
  std::optional<double> cpu_limit;  // CPUs
  std::optional<int64_t> memory_limit, memory_used;
  std::optional<int64_t> periods, periods_held_back;  // in which the CPU limit stopped the group
};

// Where the files of a controller may be: the group's own folder, its parents, the mount's root.
std::vector<std::string> group_folders(std::string_view proc_self_cgroup, std::string_view controller,
                                       const std::string& mount);

// "200000 100000" → 2; "max 100000" → none.
std::optional<double> parse_cpu_max(std::string_view text);

// `proc` and `sys` are "/proc" and "/sys". The tightest limit on the way to the root counts.
GroupCounters read_group(SmallFiles& files, const std::string& proc, const std::string& sys);
trace::live::GroupUse group_use(const GroupCounters& before, const GroupCounters& now);

}  // namespace hone::observe::system
