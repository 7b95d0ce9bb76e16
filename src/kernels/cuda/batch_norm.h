// Statistics that BatchNormalization takes of a batch while it trains, and the sums that its gradient needs, as CUDA kernels:
// one read of the tensors in parts, each by Welford's formula in the joined form of Chan, Golub and LeVeque ("Algorithms for
// computing the sample variance", 1983), then a kernel that joins the parts of each channel, in an order that depends on shapes
// alone. What is done to each element then is a pointwise program: coefficients() says what the channels' numbers are.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"
#include "kernels/pointwise/program.h"

namespace hone::kernels::gpu {

struct BatchNormProgram {
  bool gradient = false;
  bool relu = false;          // behind it; of the gradient: it passes where the result of that is above 0
  DType dtype = DType::kF32;  // of images: f32, f16, bf16; numbers of channels are f32
  int64_t batch = 1, channels = 1, positions = 1;
  bool channels_last = false;
  float epsilon = 1e-5F;
  float momentum = 0.9F;
};

// Parameters: x, of a gradient also what flows in and the Relu's result or null; then partial sums.
inline constexpr const char* kBatchStatisticsEntry = "hone_batch_statistics";
// Parameters: partial sums, scale; then mean and variance that ran so far and their next values, each null where there is
// none, or, of a gradient, dscale and dbias and two that are null; then the coefficients.
inline constexpr const char* kJoinStatisticsEntry = "hone_join_statistics";

// With channels last, in place of batch_norm_elements(). Parameters: x, of a gradient also what flows in and the Relu's result
// or null; the coefficients, the bias or null, the result.
inline constexpr const char* kBatchElementsEntry = "hone_batch_elements";

struct BatchNormKernels {
  cuda::KernelSource source;
  int64_t blocks = 0, parts = 1;  // of the first kernel, along x and y
  int threads_x = 0, threads_y = 0;
  int64_t join_blocks = 0;  // of 32 × 16 threads
  int64_t element_rows =
      0;  // blocks of kBatchElementsEntry along y, as many as the first kernel's along x; 0: there is none
  std::size_t partial_bytes = 0;
  int64_t coefficients = 0;       // numbers of each channel, kept as so many rows
  int64_t coefficient_bytes = 0;  // of one row
};

Result<BatchNormKernels> generate_batch_norm(const BatchNormProgram& program);

// What is done to each element. Inputs: x, mean, factor, bias; of a gradient: what flows in, x, the Relu's result where
// there is one, mean, factor, and two numbers that are subtracted.
PointwiseProgram batch_norm_elements(const BatchNormProgram& program);

}  // namespace hone::kernels::gpu
