// Strided copies (kernels/movement/copies.h) as CUDA kernels: transposes through tiles in shared memory, everything else by
// the widest vectors that extents and steps allow. Several copies, the parts of a Concat or Split, are one kernel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/kernel_cache.h"

#include "core/result.h"
#include "kernels/movement/copies.h"

namespace hone::kernels::gpu {

inline constexpr const char* kStridedCopyEntry = "hone_strided_copy";
inline constexpr int kCopyBlock = 256;
inline constexpr std::size_t kMostCopyParts = 16;  // of one kernel
// What addresses must be aligned to.
inline constexpr std::size_t kCopyAlignment = 16;

// How a copy is done: in the order in which it is written; through tiles in shared memory, of which threads take up to 4 bytes
// at a time; the same by vectors of 16 bytes, for elements of 2 and 4 bytes whose rows are whole vectors on both sides.
enum class CopyPath : uint8_t { kDirect, kTiles, kVectorTiles };

struct StridedCopyKernel {
  cuda::KernelSource source;
  // Parameters of kStridedCopyEntry: for each part, where it reads and where it writes. Blocks have kCopyBlock threads.
  int64_t blocks = 0;
  int64_t bytes = 0;            // read and written
  std::vector<CopyPath> paths;  // of each part
};

// Extents and steps are constants of the source: divisions by them become products, and a model has few that differ.
Result<StridedCopyKernel> generate_strided_copies(std::span<const StridedCopyDesc> parts);

}  // namespace hone::kernels::gpu
