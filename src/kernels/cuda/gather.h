// Gathers and scatters (kernels/movement/gather_desc.h) as CUDA kernels. What an index chooses is moved by the widest
// vectors that divide it. An index out of range reads zeros, or writes nothing, and is told by the fault word.
#pragma once

#include <cstdint>
#include <variant>

#include "cuda/kernel_cache.h"

#include "core/result.h"
#include "kernels/movement/gather_desc.h"

namespace hone::kernels::gpu {

inline constexpr int kGatherBlock = 256;

using GatherForm = std::variant<GatherDesc, ElementsDesc, GatherNDDesc>;

inline constexpr const char* kGatherEntry = "hone_gather";
struct GatherKernel {
  cuda::KernelSource source;
  // Parameters of kGatherEntry: data, indices, output, the fault word's address (may be null), what to write there
  // (uint64_t). Blocks have kGatherBlock threads.
  int64_t blocks = 0;
  int64_t bytes = 0;  // read and written
};
Result<GatherKernel> generate_gather(const GatherForm& form);

// Where indices repeat the last update wins, as on the host: updates claim the places that they go to by their number,
// and then those that hold their claim are written. Three kernels of one source, after the data have been copied.
inline constexpr const char* kClearClaimsEntry = "hone_clear_claims";  // claims
inline constexpr const char* kClaimEntry = "hone_claim";      // indices, claims, fault word's address, word
inline constexpr const char* kScatterEntry = "hone_scatter";  // updates, indices, claims, output
struct ScatterKernels {
  cuda::KernelSource source;
  int64_t places = 0;  // int32_t each: the claims
  int64_t clear_blocks = 0, claim_blocks = 0, scatter_blocks = 0;
};
Result<ScatterKernels> generate_scatter(const GatherForm& form);

}  // namespace hone::kernels::gpu
