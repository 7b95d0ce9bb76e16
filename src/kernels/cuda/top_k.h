// The k largest or smallest elements along an axis, best first, as CUDA kernels: a bitonic network (Batcher, "Sorting networks
// and their applications", 1968) in shared memory. Longer axes are sorted in chunks whose best go on to the next round, or,
// where k is large, as a whole in memory. Elements are ordered by keys that no two share, their places among them, so that
// results are the same every time: among equals the lower index comes first, and NaN before everything.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

struct TopKProgram {
  DType dtype = DType::kF32;  // any number
  int64_t outer = 1, extent = 1, inner = 1;
  int64_t k = 1;  // 1…extent
  bool largest = true;
};

// The kernels of one source. All parameters are of eight bytes: first `tensors`, then `integers`.
struct TopKLaunch {
  enum class Tensor : uint8_t { kData, kValues, kIndices, kScratch };  // values and indices may be null
  struct Parameter {
    Tensor tensor = Tensor::kScratch;
    int64_t offset = 0;  // bytes, of scratch
  };
  const char* entry = nullptr;
  int64_t blocks = 0;
  int threads = 0;
  std::vector<Parameter> tensors = {};
  std::vector<int64_t> integers = {};
};

struct TopKKernels {
  cuda::KernelSource source;
  std::vector<TopKLaunch> launches;  // in this order
  std::size_t scratch_bytes = 0;
};

inline constexpr const char* kTopKOfDataEntry =
    "hone_top_k_of_data";  // chunks of the data to items or to results
inline constexpr const char* kTopKOfItemsEntry = "hone_top_k_of_items";  // the same of a round's items
inline constexpr const char* kTopKSortEntry = "hone_top_k_sort";         // chunks of the data to sorted items
inline constexpr const char* kTopKAcrossEntry = "hone_top_k_across";  // a step of the network between chunks
inline constexpr const char* kTopKWithinEntry = "hone_top_k_within";  // all steps that remain within chunks
inline constexpr const char* kTopKTakeEntry = "hone_top_k_take";      // items to results
inline constexpr int64_t kMostTopKExtent = (int64_t{1} << 31) - 1;

// Extents are constants of the source. Other types, empty or longer axes are unsupported.
Result<TopKKernels> generate_top_k(const TopKProgram& program);

}  // namespace hone::kernels::gpu
