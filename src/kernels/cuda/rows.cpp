#include "kernels/cuda/rows.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

// Sums and maxima over the threads of a row, each of which gets the result. In the order of a tree: the same every time.
constexpr std::string_view kRowReductions = R"cuda(
template <typename Combine> HONE_FUNCTION float hone_over_row(float x, Combine combine) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) x = combine(x, __shfl_xor_sync(0xffffffffu, x, mask));
  if (kThreads == 32) return x;
  __shared__ float parts[32];
  __syncthreads();  // those of the reduction before have been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = parts[0];
  for (int i = 1; i < kThreads / 32; ++i) x = combine(x, parts[i]);
  return x;
}
struct HoneSum { HONE_FUNCTION float operator()(float a, float b) const { return a + b; } };
struct HoneMax { HONE_FUNCTION float operator()(float a, float b) const { return hone_max(a, b); } };
)cuda";

// Columns past the row's end count as what changes no result.
constexpr std::string_view kRowLoad = R"cuda(
  const hone_i64 row = (hone_i64)blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * kColumns;
  y += row * kColumns;
  float v[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int at = i * kThreads + (int)threadIdx.x;
    v[i] = at < kColumns ? Form::held(x[at]) : kPadding;
  }
)cuda";

constexpr std::string_view kSoftmaxBody = R"cuda(
  float most = v[0];
#pragma unroll
  for (int i = 1; i < kEach; ++i) most = hone_max(most, v[i]);
  most = hone_over_row(most, HoneMax());
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) sum += exp(v[i] - most);
  sum = hone_over_row(sum, HoneSum());
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int at = i * kThreads + (int)threadIdx.x;
    if (at < kColumns) y[at] = Form::stored(kLog ? v[i] - most - log(sum) : exp(v[i] - most) / sum);
  }
}
)cuda";

// Two passes over registers: the variance of differences loses nothing to a large mean.
constexpr std::string_view kLayerNormBody = R"cuda(
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) sum += v[i];
  const float mean = hone_over_row(sum, HoneSum()) / kColumns;
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const float d = i * kThreads + (int)threadIdx.x < kColumns ? v[i] - mean : 0.0f;
    squares += d * d;
  }
  const float factor = 1.0f / sqrt(hone_over_row(squares, HoneSum()) / kColumns + kEpsilon);
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int at = i * kThreads + (int)threadIdx.x;
    if (at >= kColumns) continue;
    const float scaled = (v[i] - mean) * factor * Form::held(scale[at]);
    y[at] = Form::stored(kBias ? scaled + Form::held(bias[at]) : scaled);
  }
}
)cuda";

std::string_view memory_type(DType dtype) { return dtype == DType::kF32 ? "float" : "unsigned short"; }

std::string_view form_name(DType dtype) {
  return dtype == DType::kF32 ? "HoneIdentity<float>" : dtype == DType::kF16 ? "HoneF16" : "HoneBf16";
}

}  // namespace

Result<RowKernel> generate_rows(const RowProgram& program) {
  if (program.dtype != DType::kF32 && program.dtype != DType::kF16 && program.dtype != DType::kBF16)
    return unsupported(fmt::format("rows of {}", dtype_name(program.dtype)));
  if (program.columns < 1 || program.columns > kMostColumns)
    return unsupported(
        fmt::format("rows of {} elements; a GPU's registers hold {}", program.columns, kMostColumns));
  const bool norm = program.function == RowFunction::kLayerNorm;
  RowKernel kernel;
  // Some eight elements a thread: enough loads on their way, and warps enough where rows are long.
  const auto wanted = std::bit_ceil(static_cast<uint64_t>((program.columns + 7) / 8));
  kernel.threads = static_cast<int>(std::clamp<uint64_t>(wanted, 32, 1024));
  kernel.rows = kernel.threads == 32 ? 4 : 1;
  const int64_t each = (program.columns + kernel.threads - 1) / kernel.threads;
  const std::string_view type = memory_type(program.dtype);
  std::string text = full_prelude();
  text += fmt::format(
      "constexpr int kColumns = {}, kThreads = {}, kEach = {};\nusing Form = {};\n"
      "#define kPadding {}\nconstexpr bool kLog = {}, kBias = {};\n#define kEpsilon {:a}f\n",
      program.columns, kernel.threads, each, form_name(program.dtype),
      norm ? "0.0f" : "hone_float_of_bits(0xff800000u)", program.function == RowFunction::kLogSoftmax,
      program.has_bias, static_cast<double>(program.epsilon));
  text += kRowReductions;
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}, 1) {}(const {}* x, {}* y, {}hone_i64 rows) {{",
      kernel.threads * kernel.rows, kRowEntry, type, type,
      !norm ? ""
            : fmt::format("const {}* scale, {}", type,
                          program.has_bias ? fmt::format("const {}* bias, ", type) : ""));
  if (norm && !program.has_bias) text += fmt::format("\n  const {}* const bias = scale;", type);
  text += kRowLoad;
  text += norm ? kLayerNormBody : kSoftmaxBody;
  kernel.source = {.name = "rows.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
