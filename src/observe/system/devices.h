// Disks and network interfaces: /proc/diskstats and /proc/net/dev.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/live/machine_use.h"

namespace hone::observe::system {

struct DiskCounters {
  std::string name;
  int64_t reads = 0, writes = 0;                  // done
  int64_t sectors_read = 0, sectors_written = 0;  // of 512 bytes, whatever the disk's own are
  int64_t operation_ms = 0;                       // reads' and writes' time, added up
  int64_t busy_ms = 0;                            // time with any of them under way
};

struct NetworkCounters {
  std::string name;
  int64_t received = 0, sent = 0;  // bytes
  int64_t errors = 0;              // errors and drops, both ways
};

// Every line that has the counters, partitions and stacked devices included.
std::vector<DiskCounters> parse_diskstats(std::string_view text);
std::vector<NetworkCounters> parse_net_dev(std::string_view text);

// A device that appeared meanwhile has no rates.
std::vector<trace::live::DiskUse> disk_use(const std::vector<DiskCounters>& before,
                                           const std::vector<DiskCounters>& now, double seconds);
std::vector<trace::live::NetworkUse> network_use(const std::vector<NetworkCounters>& before,
                                                 const std::vector<NetworkCounters>& now, double seconds);

}  // namespace hone::observe::system
