#include "observe/host/process_tree.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "core/clock.h"
#include "observe/system/devices.h"
#include "observe/system/process_counters.h"
#include "observe/system/text_fields.h"

namespace hone::observe {
namespace {

namespace fs = std::filesystem;

std::vector<int> numbers_in(const fs::path& folder) {
  std::vector<int> numbers;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    int number = 0;
    const auto [at, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && at == name.data() + name.size()) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::optional<system::ProcessStat> stat_of(system::SmallFiles& files, int pid) {
  const auto text = files.read(fmt::format("/proc/{}/stat", pid));
  return text ? system::parse_process_stat(*text) : std::nullopt;
}

int64_t ticks_to_ns(int64_t ticks) {
  const long per_second = ::sysconf(_SC_CLK_TCK);
  return per_second > 0 ? ticks * (1'000'000'000 / per_second) : 0;
}

}  // namespace

std::vector<TreeProcess> process_tree(int root) {
  system::SmallFiles files;
  std::map<int, int> parents;
  for (const int pid : numbers_in("/proc"))
    if (const auto stat = stat_of(files, pid); stat && !stat->of_kernel)
      parents[pid] = static_cast<int>(stat->parent);
  std::vector<int> order = {root};
  std::set<int> seen = {root};
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const auto& [pid, parent] : parents)
      if (parent == order[i] && seen.insert(pid).second) order.push_back(pid);
  std::vector<TreeProcess> tree;
  for (const int pid : order) {
    const auto command = files.read(fmt::format("/proc/{}/cmdline", pid));
    if (!command) continue;
    const auto parent = parents.find(pid);
    tree.push_back({pid, parent == parents.end() ? 0 : parent->second,
                    system::parse_command_line(command->substr(0, 4096))});
  }
  return tree;
}

std::vector<int> threads_of(int pid) { return numbers_in(fmt::format("/proc/{}/task", pid)); }

trace::segments::HostUse use_of_process(int pid) {
  system::SmallFiles files;
  trace::segments::HostUse use;
  use.time_ns = now_ns();
  use.pid = pid;
  if (const auto text = files.read(fmt::format("/proc/{0}/task/{0}/schedstat", pid))) {
    system::Fields fields(*text);
    use.main_running_ns = fields.number().value_or(0);
    use.main_in_line_ns = fields.number().value_or(0);
  }
  if (const auto stat = stat_of(files, pid)) {
    use.cpu_ns = ticks_to_ns(stat->cpu_ticks);
    use.disk_wait_ns = ticks_to_ns(stat->disk_wait_ticks);
    use.minor_faults = static_cast<uint64_t>(stat->minor_faults);
    use.major_faults = static_cast<uint64_t>(stat->major_faults);
  }
  if (const auto text = files.read(fmt::format("/proc/{}/io", pid)))
    if (const auto io = system::parse_process_io(*text)) {
      use.bytes_read = static_cast<uint64_t>(io->read);
      use.bytes_written = static_cast<uint64_t>(io->written);
    }
  return use;
}

uint64_t bytes_recorded_by(const std::filesystem::path& folder, int pid) {
  const std::string front = fmt::format("{}-", pid);
  uint64_t bytes = 0;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (entry.path().extension() != trace::segments::kExtension ||
        !entry.path().filename().string().starts_with(front))
      continue;
    if (const auto size = entry.file_size(failure); !failure) bytes += size;
  }
  return bytes;
}

trace::segments::HostUse use_of_machine() {
  system::SmallFiles files;
  trace::segments::HostUse use;
  use.time_ns = now_ns();
  if (const auto text = files.read("/proc/net/dev"))
    for (const system::NetworkCounters& network : system::parse_net_dev(*text)) {
      if (network.name == "lo") continue;
      use.bytes_received += static_cast<uint64_t>(network.received);
      use.bytes_sent += static_cast<uint64_t>(network.sent);
    }
  return use;
}

}  // namespace hone::observe
