#include "analyze/device/busy/gpu_roofs.h"

#include <algorithm>

namespace hone::analyze::device {
namespace {

constexpr double kT = 1e12;
constexpr double kG = 1e9;
constexpr double kMiB = 1024.0 * 1024.0;

struct RoofRow {
  std::string_view part;  // of the driver's name for the device; the first row that matches counts
  std::string_view device;
  std::string_view source;
  double f64, f32, tf32, f16, bf16, f8, i8;  // TFLOP/s
  double vector_f32;                         // TFLOP/s
  double dram;                               // GB/s
  double cache_mib;
  double link, host_link;  // GB/s
  int multiprocessors;
  double graph_node_us;
};

constexpr std::string_view kSheet = "data sheet";

// H200, H100: bench/results/roofs-*.json; of matrix products the best round (what a kernel reaches that does
// not heat the device for seconds). DRAM is what a copy reaches, on the H100 what reading does: there a copy,
// at 2443, stays far below. Data-sheet rows: dense rates, no sparsity; a data sheet's rates are about a tenth
// above what any kernel reaches. Ring collectives reach about 0.8 of a link.
constexpr RoofRow kRoofRows[] = {
    // name      device                 source    f64   f32   tf32   f16    bf16   f8     i8    vec   dram L2
    // link host  SM  node
    {"H200", "NVIDIA H200", "measured on one H200 (2026-11-21)", 60.6, 51.1, 386.8, 759.6, 777.2, 1442.9,
     941.3, 51.1, 4224, 50, 326, 55.4, 132, 0.87},
    {"GH200", "NVIDIA GH200", kSheet, 67, 67, 494, 989, 989, 1979, 1979, 67, 4000, 50, 450, 450, 132, 1.0},
    {"H100 PCIe", "NVIDIA H100 PCIe", kSheet, 51, 51, 378, 756, 756, 1513, 1513, 51, 2000, 50, 55, 55, 114,
     1.0},
    {"H100 NVL", "NVIDIA H100 NVL", kSheet, 60, 60, 418, 835, 835, 1671, 1671, 60, 3900, 50, 300, 55, 132,
     1.0},
    {"H100", "NVIDIA H100 SXM", "measured on one H100 (2026-11-22), its link by the data sheet", 60.8, 52.0,
     401.6, 767.2, 798.9, 1450.3, 953.8, 52.0, 3107, 50, 450, 54.9, 132, 1.20},
    {"H800", "NVIDIA H800", kSheet, 1, 67, 494, 989, 989, 1979, 1979, 67, 3350, 50, 200, 55, 132, 1.0},
    {"B200", "NVIDIA B200", kSheet, 37, 75, 1125, 2250, 2250, 4500, 4500, 75, 8000, 126, 900, 55, 148, 1.0},
    {"A100-SXM4-80GB", "NVIDIA A100 SXM 80 GB", kSheet, 19.5, 19.5, 156, 312, 312, 0, 624, 19.5, 2039, 40,
     300, 25, 108, 1.5},
    {"A100", "NVIDIA A100", kSheet, 19.5, 19.5, 156, 312, 312, 0, 624, 19.5, 1555, 40, 300, 25, 108, 1.5},
    {"L40S", "NVIDIA L40S", kSheet, 1.4, 91.6, 183, 362, 362, 733, 733, 91.6, 864, 96, 25, 25, 142, 1.5},
    {"L4", "NVIDIA L4", kSheet, 0.5, 30.3, 60, 121, 121, 242, 242, 30.3, 300, 48, 25, 25, 58, 1.5},
    {"RTX 4090", "NVIDIA GeForce RTX 4090", kSheet, 1.3, 82.6, 82.6, 165, 165, 330, 661, 82.6, 1008, 72, 25,
     25, 128, 1.5},
    {"V100", "NVIDIA V100", kSheet, 7.8, 15.7, 0, 125, 0, 0, 0, 15.7, 900, 6, 150, 12, 80, 2.0},
    {"T4", "NVIDIA T4", kSheet, 0.25, 8.1, 0, 65, 0, 0, 130, 8.1, 300, 4, 12, 12, 40, 2.0},
};

GpuRoofs roofs_of(const RoofRow& row) {
  GpuRoofs roofs;
  roofs.device = row.device;
  roofs.origin = row.source == kSheet ? RoofOrigin::kDataSheet : RoofOrigin::kMeasured;
  roofs.source = row.source;
  roofs.f64 = row.f64 * kT;
  roofs.f32 = row.f32 * kT;
  roofs.tf32 = row.tf32 * kT;
  roofs.f16 = row.f16 * kT;
  roofs.bf16 = row.bf16 * kT;
  roofs.f8 = row.f8 * kT;
  roofs.i8 = row.i8 * kT;
  roofs.vector_f32 = row.vector_f32 * kT;
  roofs.dram = row.dram * kG;
  roofs.cache_bytes = row.cache_mib * kMiB;
  roofs.link = row.link * kG;
  roofs.host_link = row.host_link * kG;
  roofs.multiprocessors = row.multiprocessors;
  roofs.graph_node_us = row.graph_node_us;
  return roofs;
}

// The best rate of the dtype; `rate` stays what it is where the table has none.
void take(double& rate, const Roofs& roofs, DType dtype, bool tf32 = false) {
  double best = 0;
  for (const ComputeRoof& roof : roofs.compute)
    if (roof.dtype == dtype && (roof.method == kTf32Method) == tf32) best = std::max(best, roof.flops.median);
  if (best > 0) rate = best;
}

}  // namespace

double GpuRoofs::matrix_roof(trace::KernelMath math) const {
  switch (math) {
    using enum trace::KernelMath;
    case kF64:
      return f64;
    case kVectorF32:
    case kVectorF16:
      return f32;
    case kTf32:
      return tf32;
    case kF16:
      return f16;
    case kBf16:
    case k16Bit:
      return bf16;
    case kF8:
      return f8;
    case kI8:
      return i8;
    case kUnknown:
      break;
  }
  return 0;
}

GpuRoofs gpu_roofs(std::string_view device_name) {
  for (const RoofRow& row : kRoofRows)
    if (device_name.find(row.part) != std::string_view::npos) return roofs_of(row);
  return {};
}

bool are_roofs_of(const Roofs& roofs, std::string_view device_name) {
  const std::string_view machine = roofs.machine;
  const GpuRoofs one = gpu_roofs(machine), other = gpu_roofs(device_name);
  if (one.known() && other.known()) return one.device == other.device;
  return !machine.empty() && !device_name.empty() &&
         (machine.find(device_name) != std::string_view::npos ||
          device_name.find(machine) != std::string_view::npos);
}

GpuRoofs gpu_roofs_from(const Roofs& roofs, const GpuRoofs& otherwise) {
  GpuRoofs result = otherwise;
  result.device = roofs.machine.empty() ? otherwise.device : roofs.machine;
  result.origin = RoofOrigin::kGiven;
  result.source = "the table of roofs that was given";
  take(result.f64, roofs, DType::kF64);
  take(result.f32, roofs, DType::kF32);
  take(result.tf32, roofs, DType::kF32, /*tf32=*/true);
  take(result.f16, roofs, DType::kF16);
  take(result.bf16, roofs, DType::kBF16);
  take(result.f8, roofs, DType::kF8E4M3FN);
  take(result.i8, roofs, DType::kI8);
  if (const double dram = roofs.dram_roof(roofs.threads); dram > 0) result.dram = dram;
  return result;
}

}  // namespace hone::analyze::device
