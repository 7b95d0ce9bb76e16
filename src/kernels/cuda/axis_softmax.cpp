#include "kernels/cuda/axis_softmax.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kNarrowestStrip = 4;  // vectors: two sectors of memory
constexpr int64_t kFewRowsOfThread =
    8;  // vectors of 16 bytes: 32 registers; twice as many where lines are long

// How a block's threads lie over its strip: `across` vectors of `lanes` lines, `along` rows at a time, `each` a thread.
struct StripPlan {
  int64_t lanes = 1, across = 1, along = 1, each = 1;
  int64_t vectors = 1;  // of all lines
  bool in_registers = true;

  // Of a multiprocessor at least: one loads while another computes.
  int64_t blocks_at_once() const { return in_registers && each > kFewRowsOfThread ? 2 : 3; }
};

int64_t power_of_two(int64_t least) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(least)));
}

StripPlan plan_strip(const AxisSoftmaxProgram& program) {
  StripPlan plan;
  const auto element = static_cast<int64_t>(dtype_size(program.dtype));
  while (plan.lanes * 2 * element <= 16 && program.inner % (plan.lanes * 2) == 0) plan.lanes *= 2;
  plan.vectors = program.outer * program.inner / plan.lanes;
  plan.in_registers = program.extent <= kMostAxisInRegisters;
  if (plan.in_registers) {
    const int64_t wanted = power_of_two((program.extent + kFewRowsOfThread - 1) / kFewRowsOfThread);
    plan.along = std::min(wanted, kAxisSoftmaxBlock / kNarrowestStrip);
    plan.across = kAxisSoftmaxBlock / plan.along;
  } else {
    plan.across = std::min(power_of_two(plan.vectors), kNarrowestStrip);
    plan.along = kAxisSoftmaxBlock / plan.across;
  }
  plan.each = (program.extent + plan.along - 1) / plan.along;
  return plan;
}

// Where a thread's lines begin, and how its numbers are joined with those of the other threads that have the same lines.
constexpr std::string_view kStripShared = R"cuda(
typedef HoneVector<HoneWord, kWords> HoneWide;
struct HoneLargest { HONE_FUNCTION static float join(float a, float b) { return fmax(a, b); } };
struct HoneTotal { HONE_FUNCTION static float join(float a, float b) { return a + b; } };
HONE_FUNCTION float hone_share(float x) { return kHalf ? hone_near_exp2(x * 1.44269504f) : exp(x); }
HONE_FUNCTION float hone_held(HoneWide x, int i) {
  if constexpr (sizeof(HoneElement) == 4) return hone_float_of_bits(x.at[i]);
  else return Form::held((unsigned short)(x.at[i / 2] >> (i % 2 * 16)));
}
// Changes nothing, as blocks are one thread high, of which the compiler knows nothing: what was computed of `x` is computed
// again hereafter. Kept instead, it would take the registers that loads need.
template <typename Word> HONE_FUNCTION void hone_forget(Word& x) { x += (Word)threadIdx.y; }

// Each thread gets the whole of its lines: the same tree every time. Shared memory is the kernel's own: statics of a function
// that libraries of the host have in common would be one for all of them.
constexpr int kOfWarp = kAcross < 32 ? 32 / kAcross : 1, kRowsOfWarp = kOfWarp < kAlong ? kOfWarp : kAlong;
constexpr int kGroups = kAlong / kRowsOfWarp, kColumns = kAcross * kLanes;
template <typename Join> HONE_FUNCTION void hone_over_rows(float (&x)[kLanes], float (*parts)[kColumns], float* whole) {
#pragma unroll
  for (int mask = kAcross; mask < kAcross * kRowsOfWarp; mask *= 2) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) x[i] = Join::join(x[i], __shfl_xor_sync(0xffffffffu, x[i], mask));
  }
  if (kGroups > 1) {
    const int column = (int)threadIdx.x % kAcross * kLanes, row = (int)threadIdx.x / kAcross;
    if (row % kRowsOfWarp == 0) {
#pragma unroll
      for (int i = 0; i < kLanes; ++i) parts[row / kRowsOfWarp][column + i] = x[i];
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < kColumns; i += kAcross * kAlong) {
      float all = parts[0][i];
#pragma unroll
      for (int k = 1; k < kGroups; ++k) all = Join::join(all, parts[k][i]);
      whole[i] = all;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kLanes; ++i) x[i] = whole[column + i];
  }
}
HONE_FUNCTION void hone_give(HoneWide* to, HoneWide x, const float (&most)[kLanes], const float (&factor)[kLanes]) {
  float y[kLanes];
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    const float at = hone_held(x, i) - most[i];
    y[i] = kLog ? at - factor[i] : hone_share(at) * factor[i];
  }
  hone_store<Form>((HoneElement*)to, y);
}
)cuda";

// Past the last vector a thread computes what nobody reads: barriers need all threads.
constexpr std::string_view kStripBegin = R"cuda(
  __shared__ float parts[kGroups][kColumns], whole[kColumns];
  const hone_i64 vector = (hone_i64)blockIdx.x * kAcross + (int)threadIdx.x % kAcross;
  const bool inside = vector < kVectors;
  const int first = (int)threadIdx.x / kAcross;
  const hone_i64 begin = vector / kPitch * (kExtent * kPitch) + vector % kPitch + first * kPitch;
  const HoneWide* const from = x + begin;
  HoneWide* const to = y + begin;
  const float kLeast = hone_float_of_bits(0xff800000u);
  float most[kLanes], sum[kLanes];
#pragma unroll
  for (int i = 0; i < kLanes; ++i) most[i] = kLeast, sum[i] = 0.0f;
#define HONE_ROW(k) (((k) + 1) * kAlong <= kExtent || first + (k) * kAlong < kExtent)
#define HONE_HAS(k) (inside && HONE_ROW(k))
)cuda";

constexpr std::string_view kStripInRegisters = R"cuda(
  HoneWide v[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k)
    if (HONE_HAS(k)) v[k] = from[(hone_i64)k * kAlong * kPitch];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i)
      if (HONE_ROW(k)) most[i] = fmax(most[i], hone_held(v[k], i));
  }
  hone_over_rows<HoneLargest>(most, parts, whole);
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) hone_forget(v[k].at[i]);
#pragma unroll
    for (int i = 0; i < kLanes; ++i)
      if (HONE_ROW(k)) sum[i] += hone_share(hone_held(v[k], i) - most[i]);
  }
  hone_over_rows<HoneTotal>(sum, parts, whole);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) sum[i] = kLog ? log(sum[i]) : 1.0f / sum[i];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) hone_forget(v[k].at[i]);
    if (HONE_HAS(k)) hone_give(to + (hone_i64)k * kAlong * kPitch, v[k], most, sum);
  }
}
)cuda";

// As many rows at a time as loads are to be on their way. A maximum of minus infinity is not subtracted: what it stands
// for may be followed by numbers.
constexpr std::string_view kStripInMemory = R"cuda(
  constexpr int kTurn = 4;
#pragma unroll 1
  for (int turn = 0; turn < kEach; turn += kTurn) {
    HoneWide v[kTurn];
    float larger[kLanes];
#pragma unroll
    for (int k = 0; k < kTurn; ++k)
      if (HONE_HAS(turn + k)) v[k] = from[(hone_i64)(turn + k) * kAlong * kPitch];
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      larger[i] = most[i];
#pragma unroll
      for (int k = 0; k < kTurn; ++k)
        if (HONE_ROW(turn + k)) larger[i] = fmax(larger[i], hone_held(v[k], i));
      const float base = larger[i] == kLeast ? 0.0f : larger[i];
      sum[i] *= hone_share(most[i] - base);
#pragma unroll
      for (int k = 0; k < kTurn; ++k)
        if (HONE_ROW(turn + k)) sum[i] += hone_share(hone_held(v[k], i) - base);
      most[i] = larger[i];
    }
  }
  float own[kLanes];
#pragma unroll
  for (int i = 0; i < kLanes; ++i) own[i] = most[i];
  hone_over_rows<HoneLargest>(most, parts, whole);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) sum[i] *= hone_share(own[i] - (most[i] == kLeast ? 0.0f : most[i]));
  hone_over_rows<HoneTotal>(sum, parts, whole);
#pragma unroll
  for (int i = 0; i < kLanes; ++i) sum[i] = kLog ? log(sum[i]) : 1.0f / sum[i];
#pragma unroll 1
  for (int turn = 0; turn < kEach; turn += kTurn) {
    HoneWide v[kTurn];
#pragma unroll
    for (int k = 0; k < kTurn; ++k)
      if (HONE_HAS(turn + k)) v[k] = from[(hone_i64)(turn + k) * kAlong * kPitch];
#pragma unroll
    for (int k = 0; k < kTurn; ++k)
      if (HONE_HAS(turn + k)) hone_give(to + (hone_i64)(turn + k) * kAlong * kPitch, v[k], most, sum);
  }
}
)cuda";

}  // namespace

Result<AxisSoftmaxKernel> generate_axis_softmax(const AxisSoftmaxProgram& program) {
  if (!is_element_type(program.dtype))
    return unsupported(fmt::format("softmax of {}", dtype_name(program.dtype)));
  if (program.outer < 1 || program.extent < 1 || program.inner < 1 || program.extent >= int64_t{1} << 31)
    return unsupported("softmax along such an axis");
  const StripPlan plan = plan_strip(program);
  AxisSoftmaxKernel kernel;
  kernel.blocks = (plan.vectors + plan.across - 1) / plan.across;
  kernel.in_registers = plan.in_registers;
  const auto element = static_cast<int64_t>(dtype_size(program.dtype));
  const bool words = plan.lanes * element >= 4;
  std::string text = std::string(kBasePrelude);
  text += fmt::format(
      "typedef {} HoneElement;\ntypedef {} HoneWord;\ntypedef {} Form;\nconstexpr hone_i64 kVectors = {}, "
      "kPitch = {};\n"
      "constexpr int kExtent = {}, kLanes = {}, kAcross = {}, kAlong = {}, kEach = {}, kWords = {};\n"
      "constexpr bool kLog = {}, kHalf = {};\n",
      element_memory(program.dtype), words ? "unsigned" : "unsigned short", element_form(program.dtype),
      plan.vectors, program.inner / plan.lanes, program.extent, plan.lanes, plan.across, plan.along,
      plan.each, words ? plan.lanes * element / 4 : 1, program.log, program.dtype != DType::kF32);
  text += kStripShared;
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}, {}) {}(const HoneWide* x, HoneWide* y) {{",
      kAxisSoftmaxBlock, plan.blocks_at_once(), kAxisSoftmaxEntry);
  text += kStripBegin;
  text += plan.in_registers ? kStripInRegisters : kStripInMemory;
  text += "#undef HONE_HAS\n#undef HONE_ROW\n";
  kernel.source = {.name = "axis_softmax.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
