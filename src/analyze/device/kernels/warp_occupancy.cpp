#include "analyze/device/kernels/warp_occupancy.h"

#include <algorithm>

namespace hone::analyze::device {
namespace {

struct CapabilityRow {
  int major, minor;
  MultiprocessorLimits limits;
};

constexpr uint32_t kKiB = 1024;
constexpr CapabilityRow kCapabilities[] = {
    {7, 0, {64, 32, 65'536, 96 * kKiB, 0}},      {7, 5, {32, 16, 65'536, 64 * kKiB, 0}},
    {8, 0, {64, 32, 65'536, 164 * kKiB, kKiB}},  {8, 6, {48, 16, 65'536, 100 * kKiB, kKiB}},
    {8, 7, {48, 16, 65'536, 164 * kKiB, kKiB}},  {8, 9, {48, 24, 65'536, 100 * kKiB, kKiB}},
    {9, 0, {64, 32, 65'536, 228 * kKiB, kKiB}},  {10, 0, {64, 32, 65'536, 228 * kKiB, kKiB}},
    {11, 0, {48, 24, 65'536, 228 * kKiB, kKiB}}, {12, 0, {48, 24, 65'536, 100 * kKiB, kKiB}},
};

constexpr int kSchedulers = 4;           // of a multiprocessor; each has a quarter of the registers
constexpr int kRegistersAtOnce = 256;    // given to a warp at a time
constexpr uint32_t kSharedAtOnce = 128;  // bytes given to a block at a time

constexpr int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

constexpr int kNoLimit = 1 << 16;

int blocks_by_registers(const LaunchShape& launch, const MultiprocessorLimits& limits) {
  if (launch.registers == 0) return kNoLimit;
  const int warp = round_up(static_cast<int>(std::min(launch.registers, 255u)) * 32, kRegistersAtOnce);
  const int warps = limits.registers / kSchedulers / warp * kSchedulers;
  return warps / static_cast<int>(std::max(launch.warps(), 1u));
}

int blocks_by_shared_memory(const LaunchShape& launch, const MultiprocessorLimits& limits) {
  const uint64_t each = (uint64_t{launch.shared_bytes} + limits.reserved_shared_bytes + kSharedAtOnce - 1) /
                        kSharedAtOnce * kSharedAtOnce;
  return each == 0 ? kNoLimit : static_cast<int>(limits.shared_bytes / each);
}

}  // namespace

MultiprocessorLimits multiprocessor_limits(int major, int minor) {
  MultiprocessorLimits found = kCapabilities[0].limits;
  for (const CapabilityRow& row : kCapabilities)
    if (row.major < major || (row.major == major && row.minor <= minor)) found = row.limits;
  return found;
}

int WarpOccupancy::blocks() const { return std::min({by_warps, by_blocks, by_registers, by_shared_memory}); }

double WarpOccupancy::share_without_limit(const LaunchShape& launch) const {
  const auto without = [&](OccupancyLimit which, int value) { return which == limit ? kNoLimit : value; };
  const int left =
      std::min({without(OccupancyLimit::kWarps, by_warps), without(OccupancyLimit::kBlocks, by_blocks),
                without(OccupancyLimit::kRegisters, by_registers),
                without(OccupancyLimit::kSharedMemory, by_shared_memory)});
  if (most_warps <= 0) return 0;
  const double warps_then = static_cast<double>(left) * launch.warps();
  return std::min(1.0, warps_then / most_warps);
}

double WarpOccupancy::waves(const LaunchShape& launch, int multiprocessors) const {
  const double at_once = static_cast<double>(blocks()) * multiprocessors;
  return at_once > 0 ? launch.blocks() / at_once : 0;
}

WarpOccupancy warp_occupancy(const LaunchShape& launch, const MultiprocessorLimits& limits) {
  WarpOccupancy found;
  const int warps = static_cast<int>(std::max(launch.warps(), 1u));
  found.most_warps = limits.warps;
  found.by_warps = limits.warps / warps;
  found.by_blocks = limits.blocks;
  found.by_registers = blocks_by_registers(launch, limits);
  found.by_shared_memory = blocks_by_shared_memory(launch, limits);
  const int least = found.blocks();
  found.limit = found.by_warps == least       ? OccupancyLimit::kWarps
                : found.by_blocks == least    ? OccupancyLimit::kBlocks
                : found.by_registers == least ? OccupancyLimit::kRegisters
                                              : OccupancyLimit::kSharedMemory;
  found.warps = std::min(limits.warps, least * warps);
  return found;
}

}  // namespace hone::analyze::device
