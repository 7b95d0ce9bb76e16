// Operators each of whose results is one element of an input, or none, as CUDA kernels of a thread a result: triangles of matrices,
// one-hot vectors, caches with new entries, sequences turned round.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

struct ChoiceProgram {
  enum class Kind : uint8_t { kTriangle, kOneHot, kCache, kReverse };
  Kind kind = Kind::kTriangle;
  std::size_t element_size = 4;  // bytes: 1, 2, 4, 8 or 16
  int64_t elements = 0;          // of the result
  // The axis that is chosen along: of the result, elements that lie behind it and its extent.
  int64_t extent = 1, inner = 1;
  bool upper = true;            // kTriangle: of matrices of `extent` rows, and `inner` columns
  DType indices = DType::kI64;  // kOneHot: any number
  int64_t written = 1;          // kCache: entries that are new; 1…extent
  bool circular = false;        // kCache: entries that leave the axis go on at its beginning
  int64_t of_batch = 1;  // kCache: elements of one sample; kReverse: elements behind the axis of samples
  int64_t batch = 1;     // kReverse: samples
};

// Parameters: kTriangle: x, diagonal (i64*, or null: 0), y; kOneHot: indices, values (off, on), y. Behind the others: the fault
// word's address and what to write there; kCache: cache, new entries, where they begin (i64 a sample, or null: 0), y; kReverse:
// x, lengths (i64 a sample), y.
inline constexpr const char* kChoiceEntry = "hone_choice";
inline constexpr int kChoiceBlock = 256;

struct ChoiceKernel {
  cuda::KernelSource source;
  int64_t blocks = 0;  // of kChoiceBlock threads
};
Result<ChoiceKernel> generate_choice(const ChoiceProgram& program);

}  // namespace hone::kernels::gpu
