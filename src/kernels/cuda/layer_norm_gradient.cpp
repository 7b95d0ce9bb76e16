#include "kernels/cuda/layer_norm_gradient.h"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"
#include "kernels/cuda/row_reductions.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kMostGradientBlocks = 528;  // four for each multiprocessor of the largest GPUs

// All threads of a block that waits at barriers have the same rows.
constexpr std::string_view kLayerNormGradientKernel = R"cuda(
HONE_FUNCTION float hone_sum_of_row(float x) { return hone_over_row(x, HoneSum()); }

extern "C" __global__ void __launch_bounds__(kBlock, 1) hone_layer_norm_gradient(const HoneElement* gradient,
    const HoneElement* x, const HoneScale* scale, HoneElement* dx, float* partial) {
  float dscale[kEach], dbias[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) dscale[i] = dbias[i] = 0.0f;
  const hone_i64 part = (hone_i64)blockIdx.x * blockDim.y + threadIdx.y;
  for (hone_i64 row = part; row < kRows; row += kParts) {
    float v[kEach], g[kEach];
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = i * kThreads + (int)threadIdx.x;
      v[i] = at < kColumns ? HoneForm::held(x[row * kColumns + at]) : 0.0f;
      g[i] = at < kColumns ? HoneForm::held(gradient[row * kColumns + at]) : 0.0f;
      sum += v[i];
    }
    const float mean = hone_sum_of_row(sum) / kColumns;
    float squares = 0.0f;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      v[i] = i * kThreads + (int)threadIdx.x < kColumns ? v[i] - mean : 0.0f;
      squares += v[i] * v[i];
    }
    const float inverse = 1.0f / sqrt(hone_sum_of_row(squares) / kColumns + kEpsilon);
    float along = 0.0f, across = 0.0f;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = i * kThreads + (int)threadIdx.x;
      v[i] *= inverse;
      dscale[i] += g[i] * v[i];
      dbias[i] += g[i];
      g[i] *= at < kColumns ? HoneScaleForm::held(scale[at]) : 0.0f;
      along += g[i];
      across += g[i] * v[i];
    }
    along = hone_sum_of_row(along) / kColumns;
    across = hone_sum_of_row(across) / kColumns;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = i * kThreads + (int)threadIdx.x;
      if (at < kColumns) dx[row * kColumns + at] = HoneForm::stored(inverse * (g[i] - along - v[i] * across));
    }
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int at = i * kThreads + (int)threadIdx.x;
    if (at >= kColumns) continue;
    partial[part * 2 * kColumns + at] = dscale[i];
    partial[part * 2 * kColumns + kColumns + at] = dbias[i];
  }
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_join_columns(const float* partial, HoneScale* dscale, HoneScale* dbias) {
  const int column = (int)(blockIdx.x * 32 + threadIdx.x);
  float sum = 0.0f;
  if (column < 2 * kColumns) {
#pragma unroll 4
    for (hone_i64 part = threadIdx.y; part < kParts; part += 8) sum += partial[part * 2 * kColumns + column];
  }
  __shared__ float sums[8][32];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= 2 * kColumns) return;
  for (int i = 1; i < 8; ++i) sum += sums[i][threadIdx.x];
  if (column < kColumns) dscale[column] = HoneScaleForm::stored(sum);
  else dbias[column - kColumns] = HoneScaleForm::stored(sum);
}
)cuda";

}  // namespace

Result<LayerNormGradientKernels> generate_layer_norm_gradient(const LayerNormGradientProgram& program) {
  if (!is_element_type(program.dtype) || !is_element_type(program.scale))
    return unsupported(fmt::format("the gradient of a normalisation of {}", dtype_name(program.dtype)));
  if (program.rows < 1 || program.columns < 1 || program.columns > kMostGradientColumns)
    return unsupported(fmt::format("the gradient of rows of {} elements", program.columns));
  LayerNormGradientKernels kernels;
  const auto wanted = std::bit_ceil(static_cast<uint64_t>((program.columns + 7) / 8));
  kernels.threads_x = static_cast<int>(std::max<uint64_t>(wanted, 32));
  kernels.threads_y = kernels.threads_x == 32 ? 4 : 1;
  kernels.blocks = std::min((program.rows + kernels.threads_y - 1) / kernels.threads_y, kMostGradientBlocks);
  const int64_t parts = kernels.blocks * kernels.threads_y;
  kernels.partial_bytes = static_cast<std::size_t>(parts * 2 * program.columns) * 4;
  kernels.join_blocks = (2 * program.columns + 31) / 32;
  std::string text = full_prelude();
  text += fmt::format(
      "typedef {} HoneElement;\ntypedef {} HoneForm;\ntypedef {} HoneScale;\ntypedef {} HoneScaleForm;\n"
      "constexpr hone_i64 kRows = {}, kParts = {};\n"
      "constexpr int kColumns = {}, kThreads = {}, kEach = {}, kBlock = {};\nconstexpr float kEpsilon = "
      "{:a}f;\n",
      element_memory(program.dtype), element_form(program.dtype), element_memory(program.scale),
      element_form(program.scale), program.rows, parts, program.columns, kernels.threads_x,
      (program.columns + kernels.threads_x - 1) / kernels.threads_x, kernels.threads_x * kernels.threads_y,
      static_cast<double>(program.epsilon));
  text += kRowReductions;
  text += kLayerNormGradientKernel;
  kernels.source = {.name = "layer_norm_gradient.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernels;
}

}  // namespace hone::kernels::gpu
