// The sum of squares over many tensors as CUDA kernels: each block has a chunk of one tensor, and a last one adds what blocks
// found, in an order that depends on sizes alone. Addresses and sizes are an argument of the launch, as the optimizers' are.
#pragma once

#include <array>
#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

inline constexpr const char* kSquaresEntry = "hone_squares";
inline constexpr int kSquaresBlock = 256;
inline constexpr int64_t kSquaresChunk = 8192;  // elements of a block
inline constexpr std::size_t kSquaresTensors =
    192;  // of one launch: arguments of kernels have 4 KB on every GPU
inline constexpr const char* kJoinSquaresEntry = "hone_join_squares";
inline constexpr int kJoinSquaresBlock = 1024;  // of its one block

// The first argument of kSquaresEntry, as it lies there. `first` says with which block each tensor begins, and how many
// blocks there are behind the last.
struct SquaresTensors {
  std::array<const void*, kSquaresTensors> x{};
  std::array<int64_t, kSquaresTensors> size{};
  std::array<int32_t, kSquaresTensors + 1> first{};
  int32_t count = 0;
};

// Of f32, f16 or bf16, summed in f32. Arguments of kSquaresEntry: SquaresTensors, and where the first block's sum goes (f32).
// Of kJoinSquaresEntry: all sums, their number (int64_t), the result (f32).
Result<cuda::KernelSource> generate_square_sum(DType dtype);

}  // namespace hone::kernels::gpu
