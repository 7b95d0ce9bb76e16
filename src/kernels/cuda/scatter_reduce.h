// Scatters that add, as the gradients of gathers are (an embedding's above all), multiply or compare: in an order that depends
// on indices and shapes alone, without floating-point atomics. The updates' numbers are sorted by the places that they go to;
// what goes to one place is combined in the order of the updates, in pieces that a second kernel joins.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/key_sort.h"

namespace hone::kernels::gpu {

inline constexpr const char* kScatterKeysEntry = "hone_keys";  // indices, keys, fault word's address, word
inline constexpr const char* kCombinePiecesEntry =
    "hone_combine_pieces";                                           // updates, keys, result, partial results
inline constexpr const char* kJoinPiecesEntry = "hone_join_pieces";  // keys, partial results, result
inline constexpr const char* kZeroEntry = "hone_zero";               // result

// All of one source, launched in this order behind a copy of the data or hone_zero: keys; their sort; pieces; join.
struct ScatterReduceKernels {
  cuda::KernelSource source;
  KeySort sort;
  std::size_t partial_bytes = 0;
  int64_t key_blocks = 0, zero_blocks = 0;         // of kGatherBlock threads
  int64_t piece_blocks_x = 0, piece_blocks_y = 0;  // of piece_threads_x × piece_threads_y threads
  int piece_threads_x = 0, piece_threads_y = 0;
};

enum class ScatterReduction : uint8_t { kAdd, kMultiply, kMin, kMax };

// Of any number (element_form.h). Floats are added in f32 (f64 in f64) and multiplied in f64, as factors may leave the range
// that their product is in; a NaN is smaller and larger than everything.
Result<ScatterReduceKernels> generate_scatter_reduce(const GatherForm& form, DType dtype,
                                                     ScatterReduction reduction);

}  // namespace hone::kernels::gpu
