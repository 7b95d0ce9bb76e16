// What GPUs can do, as data: one row a device. Measured where we had the machine, else from the vendor's
// data sheet and marked so. Rates are per second; bytes count what is read plus what is written.
//
// The roofs of core/roofs.h are something else: the table measured on the machine at hand, by cache level and
// number of threads, which hone's own plans are priced with. A trace may come from a device that is not here, and
// its products are judged by how they multiply. A table of the one kind is turned into the other by
// gpu_roofs_from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "core/roofs.h"
#include "trace/kernel_family.h"

namespace hone::analyze::device {

// Roofs of products are by how they multiply; f32 on matrix units is tf32.
using trace::KernelMath;

enum class RoofOrigin : uint8_t { kUnknown, kMeasured, kDataSheet, kGiven };

struct GpuRoofs {
  std::string device;  // "NVIDIA H200"; empty: unknown, and every rate 0
  RoofOrigin origin = RoofOrigin::kUnknown;
  std::string source;  // the same in words: "measured on one H200 (2026-11-21)", "data sheet"
  double f64 = 0, f32 = 0, tf32 = 0, f16 = 0, bf16 = 0, f8 = 0, i8 = 0;  // FLOP/s of dense matrix products
  double vector_f32 = 0;                                                 // FLOP/s without matrix units
  double dram = 0;                                                       // bytes/s of a copy
  double cache_bytes = 0;                                                // last level
  double link = 0;       // bytes/s one way between devices of a host (NVLink, else PCIe): busbw
  double host_link = 0;  // bytes/s one way, pinned memory
  int multiprocessors = 0;
  double graph_node_us = 1.0;  // from one work of a CUDA graph to the next

  bool known() const { return !device.empty(); }
  double matrix_roof(trace::KernelMath math) const;
  // How many times its roof a product may reach. Measured roofs are what products sustain: on an H200 the
  // limit of power then holds the clock at 1455 to 1695 MHz, by what the numbers are
  // (bench/results/product-clocks-2026-11-22.json). In a step that mostly waits for memory it stays at 1980,
  // where 132 multiprocessors × 4096 FLOP a cycle are 1.38 times the roof of bf16, 1.41 of f16.
  double most_of_roof() const { return origin == RoofOrigin::kMeasured ? 1.4 : 1.15; }
};

// By the device's name as its driver spells it; unknown devices have no rates.
GpuRoofs gpu_roofs(std::string_view device_name);
// Whether a table of roofs is of such a device: both names mean one that is known here, or one holds the other.
bool are_roofs_of(const Roofs& roofs, std::string_view device_name);
// Those of a table that the user gives (--roofs): its best rates by type, its DRAM copy rate. What it lacks
// is taken from `otherwise`.
GpuRoofs gpu_roofs_from(const Roofs& roofs, const GpuRoofs& otherwise);

}  // namespace hone::analyze::device
