// Reductions over any axes as CUDA kernels, ArgMax and ArgMin with them: rows where the innermost axis is reduced, columns
// where it is kept. Where there are few results, each is computed in parts, which a second kernel joins. What is added to
// what depends on shapes alone, so results are the same every time and on every GPU. f16 and bf16 are computed in f32.
#pragma once

#include <cstdint>
#include <optional>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"
#include "kernels/reduction/reduce_desc.h"

namespace hone::kernels::gpu {

struct ArgExtremumForm {
  bool min = false;
  bool last = false;  // among equals the last index, not the first
};

struct ReduceProgram {
  ReduceDesc desc;
  DType dtype = DType::kF32;  // f32, f16, bf16; arg: i32 and i64 as well
  bool f32_results = false;   // of f16 and bf16, too; else they are `dtype`
  // ArgMax or ArgMin of the one axis of `desc`, whose `op` is not looked at: results are i64. NaN is the largest and
  // the smallest.
  std::optional<ArgExtremumForm> arg;
};

inline constexpr const char* kReduceEntry = "hone_reduce";
inline constexpr const char* kJoinPartsEntry = "hone_join_parts";

struct ReduceKernel {
  cuda::KernelSource source;  // of both kernels
  // kReduceEntry: parameters input, output or, with parts, scratch; grid blocks × parts, block threads_x × threads_y.
  int64_t blocks = 0, parts = 1;
  int threads_x = 32, threads_y = 8;
  // kJoinPartsEntry, where parts > 1: parameters scratch, output; blocks of 256 threads.
  int64_t join_blocks = 0;
  std::size_t scratch_bytes = 0;
  int64_t bytes = 0;  // read and written, without the parts
};

// Extents are constants of the source. Other types and tensors without elements are unsupported.
Result<ReduceKernel> generate_reduce(const ReduceProgram& program);

}  // namespace hone::kernels::gpu
