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

// Columns past the row's end count as what changes no result. HONE_AT(i) is element `i` of those that a thread has:
// kLanes neighbours, and those of the row's other threads before the next.
constexpr std::string_view kRowPlace = R"cuda(
HONE_FUNCTION int hone_column(int i) { return (i / kLanes * kThreads + (int)threadIdx.x) * kLanes + i % kLanes; }
HONE_FUNCTION bool hone_inside(int i) { return (i / kLanes + 1) * kThreads * kLanes <= kColumns || hone_column(i) < kColumns; }
)cuda";

constexpr std::string_view kRowBegin = R"cuda(
  const hone_i64 row = (hone_i64)blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * kColumns;
  if (kStores) y += row * kColumns;
  if (kStoresNarrow) narrow += row * kColumns;
)cuda";

constexpr std::string_view kRowInRegisters = R"cuda(
#define HONE_AT(i) v[i]
#define HONE_KEEP(i, value) v[i] = value
  float v[kEach];
#pragma unroll
  for (int i = 0; i < kEach; i += kLanes) {
    HoneVector<HoneElement, kLanes> wide;
    const bool inside = hone_inside(i);
    if (inside) wide = *(const HoneVector<HoneElement, kLanes>*)(x + hone_column(i));
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) v[i + lane] = inside ? Form::held(wide.at[lane]) : kPadding;
  }
)cuda";

constexpr std::string_view kRowInMemory = R"cuda(
#define HONE_AT(i) (hone_inside(i) ? Form::held(x[hone_column(i)]) : kPadding)
#define HONE_KEEP(i, value)
)cuda";

// Halves get a nearby exponential and a product with the sum's reciprocal, which rounding hides.
constexpr std::string_view kSoftmaxBody = R"cuda(
#define HONE_EXP(x) (kHalf ? hone_near_exp(x) : exp(x))
  float most = HONE_AT(0);
#pragma unroll kUnroll
  for (int i = 1; i < kEach; ++i) most = hone_max(most, HONE_AT(i));
  most = hone_over_row(most, HoneMax());
  float sum = 0;
#pragma unroll kUnroll
  for (int i = 0; i < kEach; ++i) {
    const float share = HONE_EXP(HONE_AT(i) - most);
    sum += share;
    if (!kLog) HONE_KEEP(i, share);
  }
  sum = hone_over_row(sum, HoneSum());
  const float log_sum = kLog ? log(sum) : 0.0f, part = 1.0f / sum;
#pragma unroll kUnroll
  for (int i = 0; i < kEach; i += kLanes) {
    if (!hone_inside(i)) continue;
    float out[kLanes];
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const float at = HONE_AT(i + lane);
      const float share = kLog || kKept ? at : HONE_EXP(at - most);
      out[lane] = kLog ? at - most - log_sum : kHalf ? share * part : share / sum;
    }
    hone_store<Form>(y + hone_column(i), out);
  }
}
)cuda";

// In passes over the row: the variance of differences loses nothing to a large mean.
constexpr std::string_view kNormBody = R"cuda(
#define HONE_MEAN(sum) (kHalf ? (sum) * (1.0f / kColumns) : (sum) / kColumns)
  float mean = 0;
  if (kCentred) {
    float sum = 0;
#pragma unroll kUnroll
    for (int i = 0; i < kEach; ++i) sum += HONE_AT(i);
    mean = HONE_MEAN(hone_over_row(sum, HoneSum()));
  }
  float squares = 0;
#pragma unroll kUnroll
  for (int i = 0; i < kEach; ++i) {
    const float d = hone_inside(i) ? HONE_AT(i) - mean : 0.0f;
    squares += d * d;
  }
  const float variance = HONE_MEAN(hone_over_row(squares, HoneSum())) + kEpsilon;
  const float factor = kHalf ? hone_near_rsqrt(variance) : 1.0f / sqrt(variance);
  const int channel = (int)(row % kGroups) * (kColumns / kPositions);
  constexpr int kOwn = kOfChannels ? 1 : kLanes;  // of scale and bias for a vector
#pragma unroll kUnroll
  for (int i = 0; i < kEach; i += kLanes) {
    if (!hone_inside(i)) continue;
    const int of = kOfChannels ? channel + hone_column(i) / kPositions : hone_column(i);
    const HoneVector<HoneElement, kOwn> scales = *(const HoneVector<HoneElement, kOwn>*)(scale + of);
    const HoneVector<HoneElement, kOwn> biases = *(const HoneVector<HoneElement, kOwn>*)(bias + of);
    float out[kLanes];
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) {
      const float scaled = (HONE_AT(i + lane) - mean) * factor * Form::held(scales.at[lane % kOwn]);
      out[lane] = kBias ? scaled + Form::held(biases.at[lane % kOwn]) : scaled;
    }
    if constexpr (kStores) hone_store<Form>(y + hone_column(i), out);
    if constexpr (kStoresNarrow) hone_store<NarrowForm>(narrow + hone_column(i), out);
  }
}
)cuda";

// Elements of one load: as many as all rows, and all that is read along them, have whole.
int lanes_of(const RowProgram& program, bool in_registers) {
  const auto size = static_cast<int64_t>(dtype_size(program.dtype));
  const int64_t whole = program.function == RowFunction::kGroupNorm ? program.positions : program.columns;
  int64_t lanes = 1;
  while (in_registers && 2 * lanes * size <= 16 && whole % (2 * lanes) == 0) lanes *= 2;
  return static_cast<int>(lanes);
}

}  // namespace

Result<RowKernel> generate_rows(const RowProgram& program) {
  if (!is_element_type(program.dtype))
    return unsupported(fmt::format("rows of {}", dtype_name(program.dtype)));
  if (program.columns < 1 || program.columns > kMostColumns)
    return unsupported(fmt::format("rows of {} elements", program.columns));
  const bool norm = program.function != RowFunction::kSoftmax && program.function != RowFunction::kLogSoftmax;
  const bool narrows = program.narrow != DType::kUndefined;
  if (narrows && (!norm || program.function == RowFunction::kGroupNorm || program.dtype != DType::kF32 ||
                  !is_element_type(program.narrow)))
    return unsupported(fmt::format("rows of {} that are stored as {}", dtype_name(program.dtype),
                                   dtype_name(program.narrow)));
  if (!narrows && !program.stores) return unsupported("rows that are not stored");
  RowKernel kernel;
  const bool in_registers = program.columns <= kMostColumnsInRegisters;
  const int lanes = lanes_of(program, in_registers);
  // Enough loads on their way, and warps enough where rows are long: some eight elements a thread, or four vectors, which lets
  // a warp have a row of a thousand.
  const int64_t wanted_each = program.spread ? lanes : lanes == 1 ? 8 : 32;
  const auto wanted = std::bit_ceil(static_cast<uint64_t>((program.columns + wanted_each - 1) / wanted_each));
  kernel.threads = static_cast<int>(std::clamp<uint64_t>(wanted, 32, 1024));
  kernel.rows = kernel.threads == 32 && !program.spread ? 4 : 1;
  const int64_t a_turn = int64_t{kernel.threads} * lanes;
  const int64_t each = (program.columns + a_turn - 1) / a_turn * lanes;
  const std::string_view type = element_memory(program.dtype);
  std::string text = full_prelude();
  text += fmt::format(
      "constexpr int kColumns = {}, kThreads = {}, kEach = {}, kUnroll = {}, kLanes = {};\nusing Form = {};\n"
      "typedef {} HoneElement;\nconstexpr bool kKept = {}, kHalf = {};\n"
      "#define kPadding {}\nconstexpr bool kLog = {}, kBias = {}, kCentred = {}, kOfChannels = {};\n"
      "#define kEpsilon {:a}f\nconstexpr int kGroups = {}, kPositions = {};\n"
      "constexpr bool kStores = {}, kStoresNarrow = {};\nusing NarrowForm = {};\n",
      program.columns, kernel.threads, each, in_registers ? each : 4, lanes, element_form(program.dtype),
      type, in_registers, program.dtype != DType::kF32, norm ? "0.0f" : "hone_float_of_bits(0xff800000u)",
      program.function == RowFunction::kLogSoftmax, program.has_bias,
      program.function != RowFunction::kRmsNorm, program.function == RowFunction::kGroupNorm,
      static_cast<double>(program.epsilon), program.groups, program.positions, program.stores, narrows,
      element_form(narrows ? program.narrow : program.dtype));
  text += kRowReductions;
  text += kRowPlace;
  const std::string stored = (program.stores ? fmt::format("{}* y, ", type) : "") +
                             (narrows ? fmt::format("{}* narrow, ", element_memory(program.narrow)) : "");
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}, 1) {}(const {}* x, {}{}hone_i64 rows) {{",
      kernel.threads * kernel.rows, kRowEntry, type, stored,
      !norm ? ""
            : fmt::format("const {}* scale, {}", type,
                          program.has_bias ? fmt::format("const {}* bias, ", type) : ""));
  if (norm && !program.has_bias) text += fmt::format("\n  const {}* const bias = scale;", type);
  if (!program.stores) text += fmt::format("\n  {}* y = nullptr;", type);
  if (!narrows) text += fmt::format("\n  {}* narrow = nullptr;", type);
  text += kRowBegin;
  text += in_registers ? kRowInRegisters : kRowInMemory;
  text += norm ? kNormBody : kSoftmaxBody;
  kernel.source = {.name = "rows.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
