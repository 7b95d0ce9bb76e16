#include "kernels/cuda/square_sum.h"

#include <string>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"
#include "kernels/cuda/tensor_list.h"

namespace hone::kernels::gpu {
namespace {

constexpr std::string_view kSquaresText = R"cuda(
struct HoneSquares {
  const HoneElement* x[kTensors];
  hone_i64 size[kTensors];
  int first[kTensors + 1];
  int count;
};
HONE_FUNCTION float hone_over_warp(float x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) x += __shfl_xor_sync(0xffffffffu, x, mask);
  return x;
}

extern "C" __global__ void __launch_bounds__(kBlock, 1) hone_squares(HoneSquares t, float* sums) {
  typedef HoneVector<HoneElement, kLanes> Wide;
  constexpr int kLoads = kChunk / (kBlock * kLanes);
  const int i = hone_tensor_of_block(t);
  const HoneElement* const x = t.x[i];
  const hone_i64 size = t.size[i], begin = ((hone_i64)blockIdx.x - t.first[i]) * kChunk + (int)threadIdx.x * kLanes;
  Wide wide[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const hone_i64 at = begin + k * (kBlock * kLanes);
    if (at + kLanes <= size) wide[k] = *(const Wide*)(x + at);
  }
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const hone_i64 at = begin + k * (kBlock * kLanes);
    if (at + kLanes <= size) {
#pragma unroll
      for (int lane = 0; lane < kLanes; ++lane) {
        const float v = HoneForm::held(wide[k].at[lane]);
        sum += v * v;
      }
    } else {
#pragma unroll 1
      for (hone_i64 e = at; e < size; ++e) {
        const float v = HoneForm::held(x[e]);
        sum += v * v;
      }
    }
  }
  sum = hone_over_warp(sum);
  __shared__ float parts[kBlock / 32];
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kBlock / 32; ++warp) sum += parts[warp];
  sums[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(1024, 1) hone_join_squares(const float* sums, hone_i64 count, float* out) {
  float sum = 0.0f;
#pragma unroll 8
  for (hone_i64 i = threadIdx.x; i < count; i += 1024) sum += sums[i];
  sum = hone_over_warp(sum);
  __shared__ float parts[32];
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = hone_over_warp(parts[threadIdx.x]);
  if (threadIdx.x == 0) out[0] = sum;
}
)cuda";

}  // namespace

Result<cuda::KernelSource> generate_square_sum(DType dtype) {
  if (!is_element_type(dtype)) return unsupported(fmt::format("sums of squares of {}", dtype_name(dtype)));
  std::string text(kBasePrelude);
  text += kTensorOfBlock;
  text += fmt::format(
      "typedef {} HoneElement;\ntypedef {} HoneForm;\nconstexpr int kTensors = {}, kChunk = {}, kBlock = {}, "
      "kLanes = {};\n",
      element_memory(dtype), element_form(dtype), kSquaresTensors, kSquaresChunk, kSquaresBlock,
      16 / dtype_size(dtype));
  text += kSquaresText;
  return cuda::KernelSource{.name = "square_sum.cu", .text = std::move(text), .options = {"--fmad=false"}};
}

}  // namespace hone::kernels::gpu
