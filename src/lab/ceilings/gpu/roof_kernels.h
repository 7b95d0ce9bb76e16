// Kernels that reach a roof of an NVIDIA GPU and do nothing else: sources for NVRTC.
#pragma once

#include "cuda/kernel_cache.h"

namespace hone::lab {

// One source with all of them; entries, and their parameters:
//   roof_fma      (float* out, float a, float b, int rounds)              kRoofFmaOfThread FMA a thread and round
//   roof_copy     (const uint4* from, uint4* to, long long count)         count of 16 bytes each
//   roof_read     (const uint4* from, uint4* out, long long count, int passes)   past the L1 cache
//   roof_write    (uint4* to, long long count)
//   roof_shared   (uint4* out, int rounds)                                kRoofSharedOfThread bytes a thread and round
//   roof_nothing  ()
cuda::KernelSource roof_kernels();

inline constexpr unsigned kRoofBlock = 256;  // threads
inline constexpr int kRoofFmaOfThread = 16 * 16, kRoofSharedOfThread = 32 * 16;

}  // namespace hone::lab
