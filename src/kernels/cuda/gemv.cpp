#include "kernels/cuda/gemv.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kGemvWarps = kGemvBlock / 32;
constexpr int64_t kGemvWantedBlocks = 264;  // two for each multiprocessor of the largest GPUs
constexpr int64_t kLeastLoads = 4;          // of a thread: a part with fewer is not worth a second kernel
constexpr int64_t kMostGemvParts = 64;

constexpr std::string_view kGemvText = R"cuda(
typedef HoneVector<Element, kUnit> Wide;
// What follows the product of column `n`.
HONE_FUNCTION void hone_finish(float sum, hone_i64 n, const Element* row, const Element* added, Element* d) {
  float v = kAlpha * sum;
  if (added) v += kBeta * Form::held(added[n]);
  if (row) v += Form::held(row[n]);
  if (kRelu) v = hone_relu(v);
  if (kGelu) v = hone_gelu_tanh(v);
  d[n] = Form::stored(v);
}
HONE_FUNCTION void hone_give(float sum, hone_i64 n, const Element* row, const Element* added, Element* d, float* parts) {
  if (kParts > 1) parts[blockIdx.y * kColumns + n] = sum;
  else hone_finish(sum, n, row, added, d);
}
extern "C" __global__ void __launch_bounds__(256, 1) hone_gemv_join(const Element* a, const Element* b, const Element* row,
    const Element* added, Element* d, float* parts) {
  const hone_i64 n = (hone_i64)blockIdx.x * 256 + threadIdx.x;
  if (n >= kColumns) return;
  float sum = 0.0f;
#pragma unroll 8
  for (int part = 0; part < kParts; ++part) sum += parts[part * kColumns + n];
  hone_finish(sum, n, row, added, d);
}
)cuda";

// Of a matrix whose rows are columns of the result's: kAcross threads have a piece of such a row, the others of the warp and
// the other warps the rows that follow.
constexpr std::string_view kGemvAcross = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_gemv(const Element* a, const Element* b, const Element* row,
    const Element* added, Element* d, float* parts) {
  __shared__ float of_warps[8][kTile];
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int place = lane % kAcross * kUnit;
  const hone_i64 first = (hone_i64)blockIdx.x * kTile + place;
  const hone_i64 from = blockIdx.y * kDepthOfPart, to = from + kDepthOfPart < kDepth ? from + kDepthOfPart : kDepth;
  float sums[kUnit] = {};
  if (first < kColumns) {
    b += first;
#pragma unroll 4
    for (hone_i64 k = from + warp * (32 / kAcross) + lane / kAcross; k < to; k += 8 * (32 / kAcross)) {
      const float x = Form::held(a[k]);
      const Wide w = *(const Wide*)(b + k * kColumns);
#pragma unroll
      for (int u = 0; u < kUnit; ++u) sums[u] = fma(x, Form::held(w.at[u]), sums[u]);
    }
  }
#pragma unroll
  for (int u = 0; u < kUnit; ++u) {
#pragma unroll
    for (int mask = kAcross; mask < 32; mask *= 2) sums[u] += __shfl_xor_sync(0xffffffffu, sums[u], mask);
    if (lane < kAcross) of_warps[warp][place + u] = sums[u];
  }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < kTile; i += 256) {
    const hone_i64 n = (hone_i64)blockIdx.x * kTile + i;
    if (n >= kColumns) continue;
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < 8; ++w) sum += of_warps[w][i];
    hone_give(sum, n, row, added, d, parts);
  }
}
)cuda";

// Of a matrix that has a row a result: a warp each.
constexpr std::string_view kGemvAlong = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_gemv(const Element* a, const Element* b, const Element* row,
    const Element* added, Element* d, float* parts) {
  const int lane = (int)threadIdx.x % 32;
  const hone_i64 n = (hone_i64)blockIdx.x * 8 + threadIdx.x / 32;
  if (n >= kColumns) return;
  const hone_i64 from = blockIdx.y * kDepthOfPart, to = from + kDepthOfPart < kDepth ? from + kDepthOfPart : kDepth;
  b += n * kDepth;
  float sums[kUnit] = {};
#pragma unroll 4
  for (hone_i64 k = from + lane * kUnit; k < to; k += 32 * kUnit) {
    const Wide x = *(const Wide*)(a + k), w = *(const Wide*)(b + k);
#pragma unroll
    for (int u = 0; u < kUnit; ++u) sums[u] = fma(Form::held(x.at[u]), Form::held(w.at[u]), sums[u]);
  }
  float sum = sums[0];
#pragma unroll
  for (int u = 1; u < kUnit; ++u) sum += sums[u];
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
  if (lane == 0) hone_give(sum, n, row, added, d, parts);
}
)cuda";

struct GemvPlan {
  bool along = false;  // a row of b a result
  int64_t unit = 1, across = 32, tile = 1;
  int64_t step = 1;  // of the depth, by all threads at once
  int64_t blocks = 1, parts = 1, depth_of_part = 1;
};

GemvPlan gemv_plan(const cuda::ProductDesc& desc) {
  GemvPlan plan;
  plan.along = desc.transpose_b || desc.columns == 1;
  const auto element = static_cast<int64_t>(dtype_size(desc.dtype));
  const int64_t contiguous = plan.along ? desc.depth : desc.columns;
  while (plan.unit * 2 * element <= 16 && contiguous % (plan.unit * 2) == 0) plan.unit *= 2;
  plan.across = std::min<int64_t>(32, 128 / (plan.unit * element));
  plan.tile = plan.along ? kGemvWarps : plan.across * plan.unit;
  plan.step = plan.along ? 32 * plan.unit : kGemvWarps * (32 / plan.across);
  plan.blocks = (desc.columns + plan.tile - 1) / plan.tile;
  const int64_t loads = (desc.depth + plan.step - 1) / plan.step;
  const int64_t wanted = std::clamp<int64_t>(
      std::min((kGemvWantedBlocks + plan.blocks - 1) / plan.blocks, loads / kLeastLoads), 1, kMostGemvParts);
  const int64_t loads_of_part = (loads + wanted - 1) / wanted;
  plan.depth_of_part = loads_of_part * plan.step;
  plan.parts = (desc.depth + plan.depth_of_part - 1) / plan.depth_of_part;
  return plan;
}

}  // namespace

Result<GemvKernel> generate_gemv(const cuda::ProductDesc& desc) {
  const bool half = desc.dtype == DType::kF16 || desc.dtype == DType::kBF16;
  if (!half && desc.dtype != DType::kF32)
    return unsupported(fmt::format("rows of {} times a matrix", dtype_name(desc.dtype)));
  if (desc.rows != 1 || desc.batch != 1 || desc.columns < 1 || desc.depth < 1 || desc.tf32)
    return unsupported("products of more rows than one");
  const GemvPlan plan = gemv_plan(desc);
  GemvKernel kernel;
  kernel.blocks = plan.blocks;
  kernel.parts = plan.parts;
  kernel.join_blocks = (desc.columns + kGemvBlock - 1) / kGemvBlock;
  kernel.scratch_bytes =
      plan.parts > 1 ? static_cast<std::size_t>(plan.parts * desc.columns) * sizeof(float) : 0;
  std::string text = full_prelude();
  text += fmt::format(
      "typedef {} Element;\ntypedef {} Form;\n"
      "constexpr hone_i64 kColumns = {}, kDepth = {}, kDepthOfPart = {};\n"
      "constexpr int kUnit = {}, kAcross = {}, kTile = {}, kParts = {};\n"
      "constexpr bool kRelu = {}, kGelu = {};\n#define kAlpha {:a}f\n#define kBeta {:a}f\n",
      half ? "unsigned short" : "float",
      !half                       ? "HoneIdentity<float>"
      : desc.dtype == DType::kF16 ? "HoneF16"
                                  : "HoneBf16",
      desc.columns, desc.depth, plan.depth_of_part, plan.unit, plan.across, plan.tile, plan.parts,
      desc.activation == cuda::ProductActivation::kRelu,
      desc.activation == cuda::ProductActivation::kGeluTanh, static_cast<double>(desc.alpha),
      static_cast<double>(desc.beta));
  text += kGemvText;
  text += plan.along ? kGemvAlong : kGemvAcross;
  kernel.source = {.name = "gemv.cu", .text = std::move(text), .options = {}};
  return kernel;
}

}  // namespace hone::kernels::gpu
