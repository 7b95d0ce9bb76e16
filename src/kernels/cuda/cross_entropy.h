// Softmax with cross entropy, and negative log likelihood, of [outer, classes, inner] scores as CUDA kernels: one read of the
// scores for the losses, and one trip for their gradient, in place where the plan lets it. A row of neighbouring classes has
// the threads of a warp or a block; classes that lie apart have a thread a sample.
#pragma once

#include <cstdint>
#include <optional>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

struct CrossEntropyProgram {
  enum class Kind : uint8_t { kLoss, kGradient };
  enum class Reduction : uint8_t { kNone, kSum, kMean };
  Kind kind = Kind::kLoss;
  int64_t outer = 1, classes = 1, inner = 1;
  DType dtype = DType::kF32;  // of scores: f32, f16, bf16; computed in f32
  // Of the losses and log-probabilities; of a gradient, which has the scores' type: of what each sample counts.
  DType beside = DType::kF32;
  DType target = DType::kI64;  // or i32
  // Of the loss:
  bool normalised = false;              // scores are log-probabilities already
  bool weighted = false;                // a number a class
  bool shows = false;                   // the log-probabilities are a result, too
  std::optional<int64_t> ignored = {};  // the target that does not count
  Reduction reduction = Reduction::kMean;
};

inline constexpr const char* kCrossEntropyEntry = "hone_cross_entropy";
inline constexpr const char* kSumLossesEntry = "hone_sum_losses";
inline constexpr int kSumLossesBlock = 1024;  // of its one block

struct CrossEntropyKernel {
  cuda::KernelSource source;
  // Parameters of kCrossEntropyEntry. Loss: scores, targets, class weights, each sample's loss and weight (f32; without a
  // reduction the result instead of the losses), log-probabilities, the fault word's address, what to write there. Gradient:
  // scores, targets, what each sample counts, result. Of kSumLossesEntry: losses, weights, result.
  int64_t blocks = 0;
  int threads_x = 0, threads_y = 0;
};

Result<CrossEntropyKernel> generate_cross_entropy(const CrossEntropyProgram& program);

}  // namespace hone::kernels::gpu
