// What a rank's processes took of the host while a block of steps passed, as the kernel counts it: the process itself and
// all that it started, data loaders among them.
#pragma once

#include <cstdint>

namespace hone::trace {

struct HostUse {
  int rank = 0;
  uint32_t block = 0;  // RecordingBlock::number
  double seconds = 0;  // that were counted
  int32_t processes = 0;
  double main_running_s = 0;  // of the process's main thread: on a CPU
  double main_in_line_s = 0;  // of the same: it could have run, but had no CPU
  double cpu_s = 0;           // of all threads of all processes
  double disk_wait_s = 0;     // of all main threads: the kernel waited for a disk for them
  double minor_faults = 0;    // pages that had to be mapped
  double major_faults = 0;    // pages that had to be read from a disk
  double bytes_read = 0;      // from disks
  double bytes_written = 0;
  double bytes_received = 0;  // of the machine's networks, whoever received them
  double bytes_sent = 0;

  friend bool operator==(const HostUse&, const HostUse&) = default;
};

}  // namespace hone::trace
