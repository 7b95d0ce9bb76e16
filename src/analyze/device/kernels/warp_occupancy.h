// How many warps of a kernel a multiprocessor can hold, what limits them, and how many waves its grid takes: computed from
// the launch and from what multiprocessors of that compute capability have. No counters.
#pragma once

#include <array>
#include <cstdint>

namespace hone::analyze::device {

// Of one multiprocessor (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
struct MultiprocessorLimits {
  int warps = 0;
  int blocks = 0;
  int registers = 65'536;
  uint32_t shared_bytes = 0;
  uint32_t reserved_shared_bytes = 1024;  // that each block takes besides its own
};
// Those of the nearest older capability where this one is not listed.
MultiprocessorLimits multiprocessor_limits(int major, int minor);

struct LaunchShape {
  std::array<uint32_t, 3> grid = {};
  std::array<uint32_t, 3> block = {};
  uint32_t registers = 0;     // per thread; 0: not known
  uint32_t shared_bytes = 0;  // per block, static and dynamic

  double blocks() const { return static_cast<double>(grid[0]) * grid[1] * grid[2]; }
  uint32_t threads() const { return block[0] * block[1] * block[2]; }
  uint32_t warps() const { return (threads() + 31) / 32; }
};

enum class OccupancyLimit : uint8_t { kWarps, kBlocks, kRegisters, kSharedMemory };

struct WarpOccupancy {
  // Blocks that one multiprocessor can hold at a time by each of these, were there no others; by all the least.
  int by_warps = 0, by_blocks = 0, by_registers = 0, by_shared_memory = 0;
  OccupancyLimit limit = OccupancyLimit::kWarps;  // which allows fewest; the first of equals
  int warps = 0;                                  // that can be there
  int most_warps = 0;                             // that there is room for

  int blocks() const;
  double share() const { return most_warps > 0 ? static_cast<double>(warps) / most_warps : 0; }
  // The share without the limit that counts most.
  double share_without_limit(const LaunchShape& launch) const;
  // How often all multiprocessors are filled; 1.1 takes as long as 2 where all blocks take equally long.
  double waves(const LaunchShape& launch, int multiprocessors) const;
};

WarpOccupancy warp_occupancy(const LaunchShape& launch, const MultiprocessorLimits& limits);

}  // namespace hone::analyze::device
