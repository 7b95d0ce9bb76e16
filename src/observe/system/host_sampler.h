// The host's part of the picture: what its CPUs, memory, disks, networks and processes did since the last look.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "observe/system/cpu_times.h"
#include "observe/system/devices.h"
#include "observe/system/group_limits.h"
#include "observe/system/memory_counters.h"
#include "observe/system/process_counters.h"
#include "trace/live/machine_use.h"

namespace hone::observe::system {

// Where the kernel's files are; tests have captured ones elsewhere.
struct SystemFolders {
  std::string proc = "/proc";
  std::string sys = "/sys";
};

class HostSampler {
 public:
  explicit HostSampler(SystemFolders folders = {});

  // Fills `use` (host, processes; adds notes on what cannot be read here). `seconds` since the last call, whose
  // counters the rates start from; the first call knows none.
  void read(double seconds, trace::live::MachineUse& use);

 private:
  struct Counters {
    CpuCounters cpu;
    MemoryCounters memory;
    PressureCounters cpu_pressure, memory_pressure, io_pressure;
    std::vector<DiskCounters> disks;
    std::vector<NetworkCounters> networks;
    GroupCounters group;
  };
  Counters read_counters(std::vector<std::string>& notes);
  std::vector<DiskCounters> read_disks(std::vector<std::string>& notes);
  std::vector<NetworkCounters> read_networks(std::vector<std::string>& notes);
  PressureCounters read_pressure(const char* of);
  bool is_whole_disk(const std::string& name);
  // In bytes a second; no value where the interface does not say.
  std::optional<double> speed_of(const std::string& network);

  SystemFolders folders_;
  SmallFiles files_;
  ProcessReader processes_;
  Counters last_;
  std::map<std::string, bool> whole_disks_;
};

}  // namespace hone::observe::system
