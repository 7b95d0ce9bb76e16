// What a machine did in an interval: plain data that samplers fill (observe), targets judge (analyze) and
// screens and JSON show (report). What is not known has no value; it is never 0 instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/live/clock_reason.h"

namespace hone::trace::live {

// Shares are parts of 1, rates are a second's, over the interval.
using Known = std::optional<double>;

struct Traffic {
  Known sent, received;  // bytes a second
  bool known() const { return sent.has_value() || received.has_value(); }
};

// A GPU, or an instance of one that is divided (MIG).
struct GpuUse {
  int index = 0;         // as the driver counts
  int instance = -1;     // the GPU instance; -1: the whole GPU
  bool divided = false;  // its instances follow, and most of its own values are not known
  std::string name;      // "NVIDIA H100 80GB HBM3"
  std::string uuid;
  std::string pci_bus_id;  // "00000000:19:00.0"

  Known busy_share;  // of time with any kernel running
  // Averages over all multiprocessors (GPM).
  Known sm_share;                                           // of multiprocessors with work
  Known warps_share;                                        // of the warps that could be resident: occupancy
  Known tensor_share;                                       // of time with tensor pipes active
  Known fp64_share, fp32_share, fp16_share, integer_share;  // of other pipes
  Known dram_share;                                         // of the memory's bandwidth
  Traffic pcie, nvlink;

  Known memory_used_bytes, memory_total_bytes;
  Known power_w, power_limit_w;
  Known sm_clock_mhz, sm_clock_max_mhz, memory_clock_mhz, memory_clock_max_mhz;
  Known temperature_c, slowdown_temperature_c;
  std::optional<std::vector<ClockReason>> clock_reasons;  // at the end of the interval
  // Of the interval's time in which these held the clocks back.
  Known held_by_power_share, held_by_heat_share;
  bool has_processes = false;  // that use it

  bool in_use() const { return has_processes || busy_share.value_or(0) > 0; }
};

// Linux's pressure: the share of time in which some, or all, tasks stood still for want of something.
struct Pressure {
  Known some_share, full_share;
};

struct DiskUse {
  std::string name;
  Traffic bytes;  // sent: written; received: read
  Known busy_share;
  Known operation_ms;  // mean time of a read or write; no value where there was none
};

struct NetworkUse {
  std::string name;
  Traffic bytes;
  Known bytes_per_s_limit;  // its speed
  Known errors_per_s;       // errors and drops
};

// What the container, or the group of the session, may take; no value: no limit is set.
struct GroupUse {
  Known cpu_limit;        // CPUs
  Known held_back_share;  // of time in which the limit stopped it
  Known memory_limit_bytes, memory_used_bytes;
  bool limited() const { return cpu_limit.has_value() || memory_limit_bytes.has_value(); }
};

struct HostUse {
  std::string name;
  int64_t cpus = 0;                                                      // that are online
  Known busy_share, user_share, system_share, wait_share, stolen_share;  // of all CPUs' time
  std::vector<std::pair<int, Known>> cpu_busy;                           // by number
  Known runnable;  // tasks that ran or stood in line at the end of the interval
  Known in_line;   // tasks that stood in line, on average
  Known load;      // of the last minute
  Pressure cpu_pressure, memory_pressure, io_pressure;
  Known memory_total_bytes, memory_available_bytes, swap_total_bytes, swap_used_bytes;
  Known swapped_in_per_s, swapped_out_per_s;  // bytes
  std::vector<DiskUse> disks;
  std::vector<NetworkUse> networks;
  GroupUse group;
};

struct ProcessUse {
  int64_t pid = 0, parent = 0;
  std::string command;  // the whole line; of what is not visible here, empty
  char state = '?';     // as ps has it: R, S, D, Z, …
  int64_t threads = 0;  // 0: not known
  Known cpus;           // CPUs' worth of time: 3.2 is three and a bit
  Known memory_bytes;   // resident
  Traffic disk;         // sent: written; received: read
  Known gpu_memory_bytes;
  Known gpu_share;        // of multiprocessors, where the driver says; over all its GPUs
  std::vector<int> gpus;  // that it uses
  bool visible = true;    // false: the driver names it, but it is not among the processes here
};

struct MachineUse {
  int64_t unix_ns = 0;    // when the interval ended
  double interval_s = 0;  // 0: the first look, which knows no rates
  HostUse host;
  std::string driver;  // of the GPUs; empty: there is none
  std::vector<GpuUse> gpus;
  std::vector<ProcessUse> processes;
  std::vector<std::string> notes;  // what cannot be had here, and why
};

}  // namespace hone::trace::live
