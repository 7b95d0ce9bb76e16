// NonMaxSuppression as CUDA kernels: a block for each class of each image keeps the best box that is left and drops what
// overlaps it too much, until enough are kept; then what all blocks have kept is put together in their order. Boxes are compared
// in f64, as the reference does: the same boxes are kept.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

struct SuppressionProgram {
  DType dtype = DType::kF32;  // of boxes and scores: f32, f16, bf16, f64
  int64_t batch = 1, classes = 1, boxes = 1;
  int64_t most = 1;     // of a class: 1…boxes
  bool centre = false;  // boxes are centre and size, not two corners
};

// boxes, scores, IoU threshold (float*, null: 0), score threshold (float*, null: none), kept, counts
inline constexpr const char* kSuppressEntry = "hone_suppress";
// kept, counts, rows (i64[batch * classes * most, 3]), how many of them are boxes (i64*); the others become zeros
inline constexpr const char* kPlaceRowsEntry = "hone_place_rows";
inline constexpr int kPlaceRowsBlock = 256;

// Both of one source, launched in this order with `blocks` blocks.
struct SuppressionKernels {
  cuda::KernelSource source;
  int64_t blocks = 0;
  int threads = 0;               // of kSuppressEntry
  int64_t kept = 0, counts = 0;  // int32_t each, in scratch
};

// More boxes than a block can mark, and more classes than blocks can add up, are unsupported.
Result<SuppressionKernels> generate_suppression(const SuppressionProgram& program);

}  // namespace hone::kernels::gpu
