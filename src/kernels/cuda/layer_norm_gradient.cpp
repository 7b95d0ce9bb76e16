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

constexpr int64_t kMostGradientWarps = 2112;  // sixteen for each multiprocessor of the largest GPUs

// All threads of a block that waits at barriers have the same rows. What is loaded stays as it lies in memory, which takes
// half the registers for halves, and is converted again where it is needed.
constexpr std::string_view kLayerNormGradientKernel = R"cuda(
typedef HoneVector<HoneElement, kLanes> Wide;
typedef HoneVector<HoneGradient, kLanes> WideGradient;
typedef HoneVector<HoneScale, kLanes> WideScale;
HONE_FUNCTION float hone_sum_of_row(float x) { return hone_over_row(x, HoneSum()); }
HONE_FUNCTION int hone_column(int vector) { return (vector * kThreads + (int)threadIdx.x) * kLanes; }
HONE_FUNCTION bool hone_inside(int vector) { return (vector + 1) * kThreads * kLanes <= kColumns || hone_column(vector) < kColumns; }
// What a thread has of a row; zeros beyond its end.
template <typename Wide, typename Memory> HONE_FUNCTION Wide hone_load(const Memory* row, int vector) {
  Wide wide;
#pragma unroll
  for (int i = 0; i < kLanes; ++i) wide.at[i] = 0;
  if (hone_inside(vector)) wide = *(const Wide*)(row + hone_column(vector));
  return wide;
}

extern "C" __global__ void __launch_bounds__(kBlock, kResident) hone_layer_norm_gradient(const HoneGradient* gradient,
    const HoneElement* x, const HoneScale* scale, const HoneElement* added, HoneElement* dx, HoneCopy* narrow, float* partial) {
  float sums[2][kVectors * kLanes];  // of scale and bias
#pragma unroll
  for (int i = 0; i < kVectors * kLanes; ++i) sums[0][i] = sums[1][i] = 0.0f;
  for (hone_i64 row = (hone_i64)blockIdx.x * kRowsOfBlock + threadIdx.y; row < kRows; row += kParts * kRowsOfBlock) {
    Wide xs[kVectors];
    WideGradient gs[kVectors];
    float sum = 0.0f;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) xs[v] = hone_load<Wide>(x + row * kColumns, v);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) gs[v] = hone_load<WideGradient>(gradient + row * kColumns, v);
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
#pragma unroll
      for (int i = 0; i < kLanes; ++i) sum += HoneForm::held(xs[v].at[i]);
    const float mean = hone_sum_of_row(sum) / kColumns;
    float squares = 0.0f;
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        const float d = hone_inside(v) ? HoneForm::held(xs[v].at[i]) - mean : 0.0f;
        squares += d * d;
      }
    const float inverse = 1.0f / sqrt(hone_sum_of_row(squares) / kColumns + kEpsilon);
    float along = 0.0f, across = 0.0f;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const WideScale scales = hone_load<WideScale>(scale, v);
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        const float normal = (HoneForm::held(xs[v].at[i]) - mean) * inverse, g = HoneGradientForm::held(gs[v].at[i]);
        sums[0][v * kLanes + i] += g * normal;
        sums[1][v * kLanes + i] += g;
        const float scaled = g * HoneScaleForm::held(scales.at[i]);
        along += scaled;
        across += scaled * normal;
      }
    }
    along = hone_sum_of_row(along) * (1.0f / kColumns);
    across = hone_sum_of_row(across) * (1.0f / kColumns);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (!hone_inside(v)) continue;
      const WideScale scales = hone_load<WideScale>(scale, v);
      Wide others;
      if constexpr (kAdded) others = hone_load<Wide>(added + row * kColumns, v);
      float out[kLanes];
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        const float normal = (HoneForm::held(xs[v].at[i]) - mean) * inverse;
        out[i] = inverse * (HoneGradientForm::held(gs[v].at[i]) * HoneScaleForm::held(scales.at[i]) - along - normal * across);
        if constexpr (kAdded) out[i] += HoneForm::held(others.at[i]);
      }
      if constexpr (kStores) hone_store<HoneForm>(dx + row * kColumns + hone_column(v), out);
      if constexpr (kStoresNarrow) hone_store<HoneCopyForm>(narrow + row * kColumns + hone_column(v), out);
    }
  }
  float* const to = partial + (hone_i64)blockIdx.x * 2 * kColumns;
  __shared__ float rows[kRowsOfBlock > 1 ? kRowsOfBlock : 1][kRowsOfBlock > 1 ? kColumns : 1];
#pragma unroll
  for (int which = 0; which < 2; ++which) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        if (!hone_inside(v)) continue;
        if (kRowsOfBlock == 1) to[which * kColumns + hone_column(v) + i] = sums[which][v * kLanes + i];
        else rows[threadIdx.y][hone_column(v) + i] = sums[which][v * kLanes + i];
      }
    if (kRowsOfBlock == 1) continue;
    __syncthreads();
    for (int column = (int)(threadIdx.y * kThreads + threadIdx.x); column < kColumns; column += kBlock) {
      float sum = rows[0][column];
      for (int i = 1; i < kRowsOfBlock; ++i) sum += rows[i][column];
      to[which * kColumns + column] = sum;
    }
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_join_columns(const float* partial, HoneScale* dscale, HoneScale* dbias) {
  const int thread = (int)(threadIdx.y * 32 + threadIdx.x), x = thread % 8, y = thread / 8;
  const int column = (int)blockIdx.x * 8 + x;
  float sum = 0.0f;
  if (column < 2 * kColumns) {
#pragma unroll 8
    for (hone_i64 part = y; part < kParts; part += 32) sum += partial[part * 2 * kColumns + column];
  }
  __shared__ float sums[32][8];
  sums[y][x] = sum;
  __syncthreads();
  if (y != 0 || column >= 2 * kColumns) return;
  for (int i = 1; i < 32; ++i) sum += sums[i][x];
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
  const DType gradient = program.gradient == DType::kUndefined ? program.dtype : program.gradient;
  const bool narrows = program.narrow != DType::kUndefined;
  const bool mixed = gradient != program.dtype || narrows || program.added;
  if ((mixed && program.dtype != DType::kF32) || !is_element_type(gradient) ||
      (narrows && !is_element_type(program.narrow)) || (!narrows && !program.stores))
    return unsupported(fmt::format("the gradient of a normalisation of {} by a gradient of {}, stored as {}",
                                   dtype_name(program.dtype), dtype_name(gradient),
                                   dtype_name(program.narrow)));
  LayerNormGradientKernels kernels;
  int64_t lanes = 1;
  while (2 * lanes * static_cast<int64_t>(dtype_size(program.dtype)) <= 16 &&
         program.columns % (2 * lanes) == 0)
    lanes *= 2;
  // A thread keeps two sums for each of its columns: some 24 of them leave registers for two blocks.
  const int64_t of_thread = lanes == 1 ? 8 : 24;
  const auto wanted = std::bit_ceil(static_cast<uint64_t>((program.columns + of_thread - 1) / of_thread));
  kernels.threads_x = static_cast<int>(std::max<uint64_t>(wanted, 32));
  kernels.threads_y = kernels.threads_x == 32 ? 8 : 1;
  const int block = kernels.threads_x * kernels.threads_y;
  // Two blocks of 256 threads leave 128 registers a thread, which do for bf16; other types would spill.
  const int resident = program.dtype == DType::kBF16 ? std::max(512 / block, 1) : 1;
  const int64_t a_turn = kernels.threads_x * lanes;
  kernels.blocks = std::min((program.rows + kernels.threads_y - 1) / kernels.threads_y,
                            kMostGradientWarps * 32 / std::max(block, 128));
  kernels.partial_bytes = static_cast<std::size_t>(kernels.blocks * 2 * program.columns) * 4;
  kernels.join_blocks = (2 * program.columns + 7) / 8;
  std::string text = full_prelude();
  text += fmt::format(
      "typedef {} HoneElement;\ntypedef {} HoneForm;\ntypedef {} HoneGradient;\ntypedef {} "
      "HoneGradientForm;\ntypedef {} HoneCopy;\ntypedef {} HoneCopyForm;\nconstexpr bool kAdded = {}, "
      "kStores = {}, kStoresNarrow = {};\ntypedef {} HoneScale;\ntypedef {} HoneScaleForm;\nconstexpr "
      "hone_i64 kRows = {}, kParts = {};\n"
      "constexpr int kColumns = {}, kThreads = {}, kRowsOfBlock = {}, kVectors = {}, kLanes = {}, kBlock = "
      "{};\n"
      "constexpr int kResident = {};\nconstexpr float kEpsilon = {:a}f;\n",
      element_memory(program.dtype), element_form(program.dtype), element_memory(gradient),
      element_form(gradient), element_memory(narrows ? program.narrow : program.dtype),
      element_form(narrows ? program.narrow : program.dtype), program.added, program.stores, narrows,
      element_memory(program.scale), element_form(program.scale), program.rows, kernels.blocks,
      program.columns, kernels.threads_x, kernels.threads_y, (program.columns + a_turn - 1) / a_turn, lanes,
      block, resident, static_cast<double>(program.epsilon));
  text += kRowReductions;
  text += kLayerNormGradientKernel;
  kernels.source = {.name = "layer_norm_gradient.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernels;
}

}  // namespace hone::kernels::gpu
