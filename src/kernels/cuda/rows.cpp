#include "kernels/cuda/rows.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"
#include "kernels/cuda/row_reductions.h"

namespace hone::kernels::gpu {
namespace {

// Columns past the row's end count as what changes no result. HONE_AT(i) is element `i` of those that a thread has.
constexpr std::string_view kRowPlace = R"cuda(
  const hone_i64 row = (hone_i64)blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * kColumns;
  y += row * kColumns;
)cuda";

constexpr std::string_view kRowInRegisters = R"cuda(
#define HONE_AT(i) v[i]
  float v[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int at = i * kThreads + (int)threadIdx.x;
    v[i] = at < kColumns ? Form::held(x[at]) : kPadding;
  }
)cuda";

constexpr std::string_view kRowInMemory = R"cuda(
#define HONE_AT(i) ((i) * kThreads + (int)threadIdx.x < kColumns ? Form::held(x[(i) * kThreads + (int)threadIdx.x]) : kPadding)
)cuda";

constexpr std::string_view kSoftmaxBody = R"cuda(
  float most = HONE_AT(0);
#pragma unroll kUnroll
  for (int i = 1; i < kEach; ++i) most = hone_max(most, HONE_AT(i));
  most = hone_over_row(most, HoneMax());
  float sum = 0;
#pragma unroll kUnroll
  for (int i = 0; i < kEach; ++i) sum += exp(HONE_AT(i) - most);
  sum = hone_over_row(sum, HoneSum());
#pragma unroll kUnroll
  for (int i = 0; i < kEach; ++i) {
    const int at = i * kThreads + (int)threadIdx.x;
    if (at < kColumns) y[at] = Form::stored(kLog ? HONE_AT(i) - most - log(sum) : exp(HONE_AT(i) - most) / sum);
  }
}
)cuda";

// In passes over the row: the variance of differences loses nothing to a large mean.
constexpr std::string_view kNormBody = R"cuda(
  float mean = 0;
  if (kCentred) {
    float sum = 0;
#pragma unroll kUnroll
    for (int i = 0; i < kEach; ++i) sum += HONE_AT(i);
    mean = hone_over_row(sum, HoneSum()) / kColumns;
  }
  float squares = 0;
#pragma unroll kUnroll
  for (int i = 0; i < kEach; ++i) {
    const float d = i * kThreads + (int)threadIdx.x < kColumns ? HONE_AT(i) - mean : 0.0f;
    squares += d * d;
  }
  const float factor = 1.0f / sqrt(hone_over_row(squares, HoneSum()) / kColumns + kEpsilon);
  const int channel = (int)(row % kGroups) * (kColumns / kPositions);
#pragma unroll kUnroll
  for (int i = 0; i < kEach; ++i) {
    const int at = i * kThreads + (int)threadIdx.x;
    if (at >= kColumns) continue;
    const int of = kOfChannels ? channel + at / kPositions : at;
    const float scaled = (HONE_AT(i) - mean) * factor * Form::held(scale[of]);
    y[at] = Form::stored(kBias ? scaled + Form::held(bias[of]) : scaled);
  }
}
)cuda";

}  // namespace

Result<RowKernel> generate_rows(const RowProgram& program) {
  if (!is_element_type(program.dtype))
    return unsupported(fmt::format("rows of {}", dtype_name(program.dtype)));
  if (program.columns < 1 || program.columns > kMostColumns)
    return unsupported(fmt::format("rows of {} elements", program.columns));
  const bool norm = program.function != RowFunction::kSoftmax && program.function != RowFunction::kLogSoftmax;
  RowKernel kernel;
  // Some eight elements a thread: enough loads on their way, and warps enough where rows are long.
  const auto wanted = std::bit_ceil(static_cast<uint64_t>((program.columns + 7) / 8));
  kernel.threads = static_cast<int>(std::clamp<uint64_t>(wanted, 32, 1024));
  kernel.rows = kernel.threads == 32 ? 4 : 1;
  const int64_t each = (program.columns + kernel.threads - 1) / kernel.threads;
  const bool in_registers = program.columns <= kMostColumnsInRegisters;
  const std::string_view type = element_memory(program.dtype);
  std::string text = full_prelude();
  text += fmt::format(
      "constexpr int kColumns = {}, kThreads = {}, kEach = {}, kUnroll = {};\nusing Form = {};\n"
      "#define kPadding {}\nconstexpr bool kLog = {}, kBias = {}, kCentred = {}, kOfChannels = {};\n"
      "#define kEpsilon {:a}f\nconstexpr int kGroups = {}, kPositions = {};\n",
      program.columns, kernel.threads, each, in_registers ? each : 4, element_form(program.dtype),
      norm ? "0.0f" : "hone_float_of_bits(0xff800000u)", program.function == RowFunction::kLogSoftmax,
      program.has_bias, program.function != RowFunction::kRmsNorm,
      program.function == RowFunction::kGroupNorm, static_cast<double>(program.epsilon), program.groups,
      program.positions);
  text += kRowReductions;
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}, 1) {}(const {}* x, {}* y, {}hone_i64 rows) {{",
      kernel.threads * kernel.rows, kRowEntry, type, type,
      !norm ? ""
            : fmt::format("const {}* scale, {}", type,
                          program.has_bias ? fmt::format("const {}* bias, ", type) : ""));
  if (norm && !program.has_bias) text += fmt::format("\n  const {}* const bias = scale;", type);
  text += kRowPlace;
  text += in_registers ? kRowInRegisters : kRowInMemory;
  text += norm ? kNormBody : kSoftmaxBody;
  kernel.source = {.name = "rows.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
