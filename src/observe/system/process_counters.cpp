#include "observe/system/process_counters.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <unistd.h>

namespace hone::observe::system {
namespace {

using trace::live::Known;
using trace::live::ProcessUse;

constexpr int64_t kKernelThread = 0x00200000;  // PF_KTHREAD of linux/sched.h

// "<number>/<file>" without asking for memory.
class ProcessPath {
 public:
  ProcessPath(const char* number, const char* file) {
    const std::size_t size = std::min(std::strlen(number), sizeof(text_) - kLongest);
    std::memcpy(text_, number, size);
    text_[size] = '/';
    std::strncpy(text_ + size + 1, file, kLongest - 2);
    text_[sizeof(text_) - 1] = '\0';
  }
  const char* c_str() const { return text_; }

 private:
  static constexpr std::size_t kLongest = 16;
  char text_[40] = {};
};

}  // namespace

// "pid (name) state parent group session tty tty-group flags minflt cminflt majflt cmajflt utime stime cutime
// cstime priority nice threads itrealvalue start vsize resident …"; a name may hold anything, brackets too.
std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  ProcessStat stat;
  stat.name = text.substr(open + 1, close - open - 1);
  Fields fields(text.substr(close + 1));
  const std::string_view state = fields.word();
  const auto parent = fields.number(), flags = fields.skip(4).number();
  const auto minor_faults = fields.number(), major_faults = fields.skip(1).number();
  const auto user = fields.skip(1).number(), system = fields.number();
  const auto threads = fields.skip(4).number(), start = fields.skip(1).number();
  const auto resident = fields.skip(1).number();
  if (state.empty() || !parent || !flags || !user || !system || !threads || !start || !resident)
    return std::nullopt;
  stat.state = state.front();
  stat.parent = *parent;
  stat.of_kernel = (*flags & kKernelThread) != 0;
  stat.cpu_ticks = *user + *system;
  stat.threads = *threads;
  stat.start_ticks = *start;
  stat.resident_pages = *resident;
  stat.minor_faults = minor_faults.value_or(0);
  stat.major_faults = major_faults.value_or(0);
  stat.disk_wait_ticks = fields.skip(17).number().value_or(0);
  return stat;
}

std::optional<ProcessIo> parse_process_io(std::string_view text) {
  const auto read = value_in_lines(text, "read_bytes:"), written = value_in_lines(text, "write_bytes:");
  if (!read || !written) return std::nullopt;
  return ProcessIo{*read, *written};
}

std::string parse_command_line(std::string_view text) {
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  std::string line(text);
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

std::string ProcessReader::command_of(int folder, const char* name, bool& named) {
  constexpr std::size_t kLongest = 4096;
  const auto text = files_.read(ProcessPath(name, "cmdline").c_str(), folder);
  const std::string line = text ? parse_command_line(text->substr(0, kLongest)) : "";
  named = !line.empty();
  return line;
}

std::optional<ProcessUse> ProcessReader::read_one(int folder, const char* name, double seconds) {
  const auto text = files_.read(ProcessPath(name, "stat").c_str(), folder);
  if (!text) return std::nullopt;  // it has ended
  const auto stat = parse_process_stat(*text);
  const auto pid = whole_number(name);
  if (!stat || !pid || stat->of_kernel) return std::nullopt;
  static const auto tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));

  auto [at, is_new] = followed_.try_emplace(*pid);
  Followed& last = at->second;
  if (last.start_ticks != stat->start_ticks) {
    last = {};
    is_new = true;
  }
  ProcessUse use;
  use.pid = *pid;
  use.parent = stat->parent;
  use.state = stat->state;
  use.threads = stat->threads;
  use.memory_bytes = static_cast<double>(stat->resident_pages) * page;
  const bool has_rates = seconds > 0 && round_ > 1;
  if (has_rates) use.cpus = rate(last.cpu_ticks, stat->cpu_ticks, seconds, 1 / tick);
  last.start_ticks = stat->start_ticks;
  last.cpu_ticks = stat->cpu_ticks;
  last.round = round_;
  if (!last.named || last.name != stat->name) {  // a process that runs another program gets another name
    last.name = stat->name;
    last.command = command_of(folder, name, last.named);
    if (!last.named) last.command = last.name;
  }
  use.command = last.command;

  const auto io_text = files_.read(ProcessPath(name, "io").c_str(), folder);
  const auto io = io_text ? parse_process_io(*io_text) : std::nullopt;
  if (!io) ++without_io_;
  if (io && has_rates) {
    const ProcessIo before = is_new ? ProcessIo{} : last.io.value_or(*io);
    use.disk.received = rate(before.read, io->read, seconds);
    use.disk.sent = rate(before.written, io->written, seconds);
  }
  last.io = io;
  return use;
}

std::vector<ProcessUse> ProcessReader::read(double seconds) {
  ++round_;
  without_io_ = 0;
  std::vector<ProcessUse> processes;
  DIR* folder = ::opendir(proc_.c_str());
  could_read_ = folder != nullptr;
  if (folder == nullptr) return processes;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    if (auto use = read_one(::dirfd(folder), entry->d_name, seconds)) processes.push_back(std::move(*use));
  }
  ::closedir(folder);
  std::erase_if(followed_, [&](const auto& row) { return row.second.round != round_; });
  could_read_ = !processes.empty();
  return processes;
}

}  // namespace hone::observe::system
