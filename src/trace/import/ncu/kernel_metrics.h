// What Nsight Compute measured of one launch of a kernel, by the names of its counters (`--page raw`) or of
// its details page, in the units of trace/kernel_counters.h: nanoseconds, bytes, instructions, percent.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace hone::trace::ncu {

struct KernelMetrics {
  std::string kernel;
  std::string process;
  int64_t pid = 0;
  int device = 0;
  std::string device_name;         // "NVIDIA H200"; only some sets of metrics have it
  std::string compute_capability;  // "9.0"
  int64_t stream = 0;
  std::array<uint32_t, 3> grid = {};
  std::array<uint32_t, 3> block = {};
  std::map<std::string, double> values;  // by name

  std::optional<double> value(std::string_view name) const;
  double value_or_zero(std::string_view name) const { return value(name).value_or(0); }
};

// "1,234.5" of "usecond": 1234500, of "Gbyte/s": 1234.5e9 a second. Nothing for what is no number. Unknown units count as 1.
std::optional<double> value_in_base_unit(std::string_view value, std::string_view unit);

// Of the multiprocessors; nothing if that was not measured.
std::optional<double> elapsed_cycles(const KernelMetrics& metrics);

struct KernelCounts {
  double seconds = 0;
  double flops = 0;  // as instructions did them: of floating point and matrix units
  DType dtype = DType::kUndefined;
  double bytes_read = 0;  // from DRAM
  double bytes_written = 0;
  std::string limits;  // in words: what the counters say holds it up; empty: they do not say
};

// What the counters add up to. What was not measured is 0 or empty.
KernelCounts counts_of(const KernelMetrics& metrics);

}  // namespace hone::trace::ncu
