#include "observe/system/group_limits.h"

#include <algorithm>

namespace hone::observe::system {
namespace {

constexpr int64_t kNoMemoryLimit = int64_t{1} << 60;  // version 1 says "none" by a number that no machine has

std::optional<int64_t> number_in(SmallFiles& files, const std::string& path) {
  const auto text = files.read(path);
  return text ? Fields(*text).number() : std::nullopt;
}

void take_cpu_limit(std::optional<double> limit, GroupCounters& counters) {
  if (limit && *limit > 0) counters.cpu_limit = std::min(*limit, counters.cpu_limit.value_or(*limit));
}

// Use is of the group that has the limit: what its files of the page cache hold can be given back, and is not
// counted, as container runtimes do it.
void take_memory_limit(SmallFiles& files, const std::string& folder, const char* limit_name,
                       const char* used_name, const char* cache_key, GroupCounters& counters) {
  const auto limit = number_in(files, folder + limit_name);
  if (!limit || *limit <= 0 || *limit >= kNoMemoryLimit) return;
  if (counters.memory_limit && *counters.memory_limit <= *limit) return;
  counters.memory_limit = limit;
  counters.memory_used = number_in(files, folder + used_name);
  if (!counters.memory_used) return;
  if (const auto text = files.read(folder + "/memory.stat"))
    *counters.memory_used -= std::min(*counters.memory_used, value_in_lines(*text, cache_key).value_or(0));
}

void take_periods(SmallFiles& files, const std::string& folder, GroupCounters& counters) {
  if (counters.periods) return;
  const auto text = files.read(folder + "/cpu.stat");
  if (!text) return;
  counters.periods = value_in_lines(*text, "nr_periods");
  counters.periods_held_back = value_in_lines(*text, "nr_throttled");
}

void read_version_2(SmallFiles& files, std::string_view groups, const std::string& mount,
                    GroupCounters& counters) {
  for (const std::string& folder : group_folders(groups, "", mount)) {
    if (const auto text = files.read(folder + "/cpu.max")) {
      const auto limit = parse_cpu_max(*text);
      take_cpu_limit(limit, counters);
      if (limit) take_periods(files, folder, counters);
    }
    take_memory_limit(files, folder, "/memory.max", "/memory.current", "inactive_file", counters);
  }
}

void read_version_1(SmallFiles& files, std::string_view groups, const std::string& mount,
                    GroupCounters& counters) {
  for (const std::string& folder : group_folders(groups, "cpu", mount + "/cpu")) {
    const auto quota = number_in(files, folder + "/cpu.cfs_quota_us");
    const auto period = number_in(files, folder + "/cpu.cfs_period_us");
    if (!quota || !period || *quota <= 0 || *period <= 0) continue;
    take_cpu_limit(static_cast<double>(*quota) / static_cast<double>(*period), counters);
    take_periods(files, folder, counters);
  }
  for (const std::string& folder : group_folders(groups, "memory", mount + "/memory"))
    take_memory_limit(files, folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                      "total_inactive_file", counters);
}

bool names_controller(std::string_view list, std::string_view controller) {
  if (controller.empty()) return list.empty();
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == controller) return true;
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return false;
}

}  // namespace

// Lines "4:memory:/a/b"; of version 2 "0::/a/b".
std::vector<std::string> group_folders(std::string_view proc_self_cgroup, std::string_view controller,
                                       const std::string& mount) {
  std::vector<std::string> folders;
  Fields lines(proc_self_cgroup);
  for (std::string_view line; lines.line(line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    if (!names_controller(line.substr(first + 1, second - first - 1), controller)) continue;
    std::string path(line.substr(second + 1));
    while (path.size() > 1) {
      folders.push_back(mount + path);
      const std::size_t slash = path.rfind('/');
      path.resize(slash == std::string::npos ? 0 : slash);
    }
    folders.push_back(mount);
    break;
  }
  return folders;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  Fields fields(text);
  const auto quota = fields.number(), period = fields.number();
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

GroupCounters read_group(SmallFiles& files, const std::string& proc, const std::string& sys) {
  GroupCounters counters;
  const auto text = files.read(proc + "/self/cgroup");
  if (!text) return counters;
  const std::string groups(*text);
  const std::string mount = sys + "/fs/cgroup";
  read_version_2(files, groups, mount, counters);
  read_version_1(files, groups, mount, counters);
  return counters;
}

trace::live::GroupUse group_use(const GroupCounters& before, const GroupCounters& now) {
  trace::live::GroupUse use;
  use.cpu_limit = now.cpu_limit;
  if (before.periods && now.periods && before.periods_held_back && now.periods_held_back &&
      *now.periods > *before.periods)
    use.held_back_share = rate(before.periods_held_back, now.periods_held_back,
                               static_cast<double>(*now.periods - *before.periods));
  if (now.memory_limit) use.memory_limit_bytes = static_cast<double>(*now.memory_limit);
  if (now.memory_used) use.memory_used_bytes = static_cast<double>(*now.memory_used);
  return use;
}

}  // namespace hone::observe::system
