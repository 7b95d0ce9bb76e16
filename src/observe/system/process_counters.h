// Processes: /proc/<pid>/stat, io and cmdline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observe/system/text_fields.h"
#include "trace/live/machine_use.h"

namespace hone::observe::system {

// What /proc/<pid>/stat says (proc_pid_stat(5)).
struct ProcessStat {
  std::string_view name;
  char state = '?';
  int64_t parent = 0;
  bool of_kernel = false;  // a thread of the kernel
  int64_t cpu_ticks = 0;   // user's and system's
  int64_t threads = 0;
  int64_t start_ticks = 0;  // since boot: tells processes apart that had the same number
  int64_t resident_pages = 0;
  int64_t minor_faults = 0, major_faults = 0;
  int64_t disk_wait_ticks = 0;  // its main thread's, where the kernel counts that
};
std::optional<ProcessStat> parse_process_stat(std::string_view text);

// Bytes that went to or came from devices (proc_pid_io(5)).
struct ProcessIo {
  int64_t read = 0, written = 0;
};
std::optional<ProcessIo> parse_process_io(std::string_view text);

// The words of a command line, which zeros separate, with spaces between them.
std::string parse_command_line(std::string_view text);

// Follows all processes. Not thread-safe.
class ProcessReader {
 public:
  explicit ProcessReader(std::string proc) : proc_(std::move(proc)) {}

  // All processes but the kernel's threads, with rates since the last call (the first knows none). A process
  // that started in between is counted from its start. `seconds` since the last call.
  std::vector<trace::live::ProcessUse> read(double seconds);
  // Of the last call: processes whose I/O the kernel does not show to us.
  int without_io() const { return without_io_; }
  // Of the last call: whether there are any processes to be seen.
  bool could_read() const { return could_read_; }

 private:
  struct Followed {
    int64_t start_ticks = 0, cpu_ticks = 0;
    std::optional<ProcessIo> io;
    std::string name, command;
    bool named = false;  // by its command line, which is empty while a process starts
    uint64_t round = 0;
  };
  std::optional<trace::live::ProcessUse> read_one(int folder, const char* name, double seconds);
  std::string command_of(int folder, const char* name, bool& named);

  std::string proc_;
  SmallFiles files_;
  std::unordered_map<int64_t, Followed> followed_;
  uint64_t round_ = 0;
  int without_io_ = 0;
  bool could_read_ = false;
};

}  // namespace hone::observe::system
