#include "kernels/cuda/recurrent.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kUnitsOfBlock = kRecurrentThreads / 32;  // a warp each
constexpr int64_t kMostSequences = 8;                      // of a warp
constexpr int64_t kMostOfGridAxis = 65535;

// States are two of h in turn, c, and what a GRU's reset leaves: its update gate and the state that it reset.
constexpr std::string_view kRecurrentText = R"cuda(
typedef HoneVector<Element, kUnit> Wide;
typedef HoneVector<float, kUnit> Floats;
HONE_FUNCTION float hone_clipped(float x) {
  if (kClip > 0.0f) x = x < -kClip ? -kClip : x > kClip ? kClip : x;
  return x;
}
HONE_FUNCTION hone_i64 hone_state_place(int direction, int n, int unit) {
  return ((hone_i64)direction * kBatch + n) * kHidden + unit;
}
// Of a state as the operator has it.
HONE_FUNCTION hone_i64 hone_outer_place(int direction, int n, int unit) {
  return (kBatchFirst ? (hone_i64)n * kDirections + direction : (hone_i64)direction * kBatch + n) * kHidden + unit;
}
HONE_FUNCTION hone_i64 hone_y_place(int direction, hone_i64 t, int n, int unit) {
  const hone_i64 row = kBatchFirst ? ((hone_i64)n * kTime + t) * kDirections + direction
                                   : (t * kDirections + direction) * kBatch + n;
  return row * kHidden + unit;
}
HONE_FUNCTION float* hone_h(float* states, hone_i64 step) { return states + (step & 1) * kState; }
HONE_FUNCTION float* hone_c(float* states) { return states + 2 * kState; }
HONE_FUNCTION float* hone_update(float* states) { return states + 3 * kState; }
HONE_FUNCTION float* hone_reset(float* states) { return states + 4 * kState; }

HONE_FUNCTION hone_i64 hone_length(const int* lengths, int n) {
  if (!lengths) return kTime;
  const int length = lengths[n];
  return length < 0 ? 0 : length < kTime ? length : kTime;
}
// A sequence is walked from its own end.
HONE_FUNCTION hone_i64 hone_time(int direction, hone_i64 step, hone_i64 length) {
  return (kReverse >> direction & 1) && step < length ? length - 1 - step : step;
}

// Products of a unit's row in each of kSums gates' matrices with the states of kSequences sequences from `first` on: a lane
// gets those of sequence `first` + lane.
template <int kSums> HONE_FUNCTION void hone_products(const Element* r, const float* h, int first, float* found) {
  const int lane = (int)threadIdx.x % 32;
  float sums[kSums][kSequences] = {};
  for (int k = lane * kUnit; k < kHidden; k += 32 * kUnit) {
    Wide weights[kSums];
#pragma unroll
    for (int g = 0; g < kSums; ++g) weights[g] = *(const Wide*)(r + (hone_i64)g * kHidden * kHidden + k);
#pragma unroll
    for (int s = 0; s < kSequences; ++s) {
      const int n = first + s < kBatch ? first + s : kBatch - 1;
      const Floats x = *(const Floats*)(h + (hone_i64)n * kHidden + k);
#pragma unroll
      for (int g = 0; g < kSums; ++g) {
#pragma unroll
        for (int j = 0; j < kUnit; ++j) sums[g][s] = fma(Form::held(weights[g].at[j]), x.at[j], sums[g][s]);
      }
    }
  }
#pragma unroll
  for (int g = 0; g < kSums; ++g) {
    found[g] = 0.0f;
#pragma unroll
    for (int s = 0; s < kSequences; ++s) {
      float sum = sums[g][s];
#pragma unroll
      for (int mask = 16; mask > 0; mask >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
      if (lane == s) found[g] = sum;
    }
  }
}
// Of gate `g`: X·W with both biases.
struct HoneGates {
  const Element* row;
  const Element* bias;
  HONE_FUNCTION float input(int g) const {
    const float x = Form::held(row[(hone_i64)g * kHidden]);
    return bias ? x + Form::held(bias[(hone_i64)g * kHidden]) : x;
  }
  HONE_FUNCTION float recurrent_bias(int g) const {
    return bias ? Form::held(bias[(hone_i64)(kGates + g) * kHidden]) : 0.0f;
  }
};
HONE_FUNCTION HoneGates hone_gates(const Element* gates, const Element* b, int direction, hone_i64 t, int n, int unit) {
  const hone_i64 row = kBatchFirst ? n * kTime + t : t * kBatch + n;
  HoneGates found;
  found.row = gates + ((hone_i64)direction * kTime * kBatch + row) * (kGates * kHidden) + unit;
  found.bias = b ? b + (hone_i64)direction * (2 * kGates * kHidden) + unit : b;
  return found;
}

extern "C" __global__ void __launch_bounds__(128, 1) hone_recurrent_begin(const int* lengths, const Element* initial_h,
    const Element* initial_c, float* states, unsigned long long* fault, unsigned long long word) {
  const hone_i64 e = (hone_i64)blockIdx.x * 128 + threadIdx.x;
  if (e >= kState) return;
  const int unit = (int)(e % kHidden), n = (int)(e / kHidden % kBatch), direction = (int)(e / kHidden / kBatch);
  const hone_i64 outer = hone_outer_place(direction, n, unit);
  hone_h(states, 1)[e] = initial_h ? Form::held(initial_h[outer]) : 0.0f;  // what step 0 reads
  hone_c(states)[e] = initial_c ? Form::held(initial_c[outer]) : 0.0f;
  if (lengths && e < kBatch && (lengths[e] < 0 || lengths[e] > kTime) && fault) atomicCAS(fault, 0ull, word);
}
)cuda";

// Where a warp is: `unit` and the first of its sequences. A whole warp leaves together.
constexpr std::string_view kRecurrentPlace = R"cuda(
  const int lane = (int)threadIdx.x % 32, unit = (int)blockIdx.x * kUnitsOfBlock + (int)threadIdx.x / 32;
  const int first = (int)blockIdx.y * kSequences, direction = (int)blockIdx.z, n = first + lane;
  if (unit >= kHidden) return;
  const hone_i64 at = hone_state_place(direction, n, unit), of_direction = hone_state_place(direction, 0, 0);
  const float* const h = hone_h(states, step + 1);
  r += ((hone_i64)direction * kGates * kHidden + unit) * kHidden;
)cuda";

constexpr std::string_view kResetBegin = R"cuda(
extern "C" __global__ void __launch_bounds__(128, 1) hone_recurrent_reset(const Element* gates, const Element* r,
    const Element* b, const int* lengths, float* states, hone_i64 step) {)cuda";
constexpr std::string_view kResetBody = R"cuda(
  float sums[2];
  hone_products<2>(r, h + of_direction, first, sums);
  if (lane >= kSequences || n >= kBatch) return;
  const HoneGates x = hone_gates(gates, b, direction, hone_time(direction, step, hone_length(lengths, n)), n, unit);
  hone_update(states)[at] = hone_function0(direction, hone_clipped(sums[0] + x.input(0) + x.recurrent_bias(0)));
  hone_reset(states)[at] = h[at] * hone_function0(direction, hone_clipped(sums[1] + x.input(1) + x.recurrent_bias(1)));
}
)cuda";

constexpr std::string_view kStepBegin = R"cuda(
extern "C" __global__ void __launch_bounds__(128, 1) hone_recurrent_step(const Element* gates, const Element* r,
    const Element* b, const int* lengths, const Element* p, float* states, Element* y, Element* last_h, Element* last_c,
    hone_i64 step) {)cuda";

// From here on a lane has one sequence.
constexpr std::string_view kOneSequence = R"cuda(
  if (lane >= kSequences || n >= kBatch) return;
  const hone_i64 length = hone_length(lengths, n), t = hone_time(direction, step, length);
  const bool lasts = step < length;
  const HoneGates x = hone_gates(gates, b, direction, t, n, unit);
  float next = h[at];
)cuda";

constexpr std::string_view kLstmBody = R"cuda(
  float sums[4];
  hone_products<4>(r, h + of_direction, first, sums);
)cuda";
constexpr std::string_view kLstmCell = R"cuda(
  float c = hone_c(states)[at];
  if (lasts) {
#pragma unroll
    for (int g = 0; g < 4; ++g) sums[g] += x.input(g) + x.recurrent_bias(g);
    if (p) p += (hone_i64)direction * 3 * kHidden + unit;
    const float of_input = p ? Form::held(p[0]) : 0.0f, of_output = p ? Form::held(p[kHidden]) : 0.0f,
                of_forget = p ? Form::held(p[2 * kHidden]) : 0.0f;
    const float i = hone_function0(direction, hone_clipped(sums[0] + of_input * c));
    const float f = kInputForget ? 1.0f - i : hone_function0(direction, hone_clipped(sums[2] + of_forget * c));
    c = f * c + i * hone_function1(direction, hone_clipped(sums[3]));
    next = hone_function0(direction, hone_clipped(sums[1] + of_output * c)) * hone_function2(direction, c);
    hone_c(states)[at] = c;
  }
)cuda";

constexpr std::string_view kGruBody = R"cuda(
  float sums[3];
  hone_products<3>(r, h + of_direction, first, sums);
)cuda";
constexpr std::string_view kGruCell = R"cuda(
  if (lasts) {
    const float update = hone_function0(direction, hone_clipped(sums[0] + x.input(0) + x.recurrent_bias(0)));
    const float reset = hone_function0(direction, hone_clipped(sums[1] + x.input(1) + x.recurrent_bias(1)));
    const float candidate = hone_function1(direction, hone_clipped(x.input(2) + reset * (sums[2] + x.recurrent_bias(2))));
    next = (1.0f - update) * candidate + update * next;
  }
)cuda";

constexpr std::string_view kGruInTwoBody = R"cuda(
  float sums[1];
  hone_products<1>(r + (hone_i64)2 * kHidden * kHidden, hone_reset(states) + of_direction, first, sums);
)cuda";
constexpr std::string_view kGruInTwoCell = R"cuda(
  if (lasts) {
    const float update = hone_update(states)[at];
    const float candidate = hone_function1(direction, hone_clipped(sums[0] + x.input(2) + x.recurrent_bias(2)));
    next = (1.0f - update) * candidate + update * next;
  }
)cuda";

constexpr std::string_view kRnnBody = R"cuda(
  float sums[1];
  hone_products<1>(r, h + of_direction, first, sums);
)cuda";
constexpr std::string_view kRnnCell = R"cuda(
  if (lasts) next = hone_function0(direction, hone_clipped(sums[0] + x.input(0) + x.recurrent_bias(0)));
)cuda";

// A step that a sequence has not leaves zeros and the state.
constexpr std::string_view kStepEnd = R"cuda(
  hone_h(states, step)[at] = next;
  if (y) y[hone_y_place(direction, t, n, unit)] = Form::stored(lasts ? next : 0.0f);
  if (step + 1 < kTime) return;
  const hone_i64 outer = hone_outer_place(direction, n, unit);
  if (last_h) last_h[outer] = Form::stored(next);
  if (last_c) last_c[outer] = Form::stored(hone_c(states)[at]);
}
)cuda";

std::string step_text(const RecurrentProgram& program) {
  using Kind = RecurrentProgram::Kind;
  const bool lstm = program.kind == Kind::kLstm, gru = program.kind == Kind::kGru;
  std::string text;
  if (program.in_two())
    text += std::string(kResetBegin) + std::string(kRecurrentPlace) + std::string(kResetBody);
  text += std::string(kStepBegin) + std::string(kRecurrentPlace);
  text += lstm ? kLstmBody : program.in_two() ? kGruInTwoBody : gru ? kGruBody : kRnnBody;
  text += kOneSequence;
  text += lstm ? kLstmCell : program.in_two() ? kGruInTwoCell : gru ? kGruCell : kRnnCell;
  text += kStepEnd;
  return text;
}

std::string function_text(const RecurrentFunction& function) {
  using Kind = RecurrentFunction::Kind;
  const auto with = [&](std::string_view text) {
    return fmt::format(fmt::runtime(text),
                       fmt::arg("a", fmt::format("{:a}f", static_cast<float>(function.alpha))),
                       fmt::arg("b", fmt::format("{:a}f", static_cast<float>(function.beta))));
  };
  switch (function.kind) {
    case Kind::kSigmoid:
      return "1.0f / (1.0f + exp(-x))";
    case Kind::kTanh:
      return "tanh(x)";
    case Kind::kRelu:
      return "x > 0.0f ? x : 0.0f";
    case Kind::kAffine:
      return with("{a} * x + {b}");
    case Kind::kLeakyRelu:
      return with("x >= 0.0f ? x : {a} * x");
    case Kind::kThresholdedRelu:
      return with("x >= {a} ? x : 0.0f");
    case Kind::kScaledTanh:
      return with("{a} * tanh({b} * x)");
    case Kind::kHardSigmoid:
      return with("hone_gate({a} * x + {b})");
    case Kind::kElu:
      return with("x >= 0.0f ? x : {a} * expm1(x)");
    case Kind::kSoftsign:
      return "x / (1.0f + fabs(x))";
    case Kind::kSoftplus:
      return "(x > 0.0f ? x : 0.0f) + log1p(exp(-fabs(x)))";
  }
  return {};
}

// hone_function0(direction, x) and so on.
std::string functions_text(const RecurrentProgram& program) {
  std::string text =
      "HONE_FUNCTION float hone_gate(float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }\n";
  const auto count = static_cast<std::size_t>(program.functions_of_direction());
  for (std::size_t i = 0; i < count; ++i) {
    text += fmt::format("HONE_FUNCTION float hone_function{}(int direction, float x) {{\n", i);
    const RecurrentFunction& first = program.functions[i];
    if (program.reverse.size() > 1 && program.functions[count + i] != first)
      text += fmt::format("  if (direction == 1) return {};\n", function_text(program.functions[count + i]));
    text += fmt::format("  return {};\n}}\n", function_text(first));
  }
  return text;
}

int64_t pieces_of(int64_t count, int64_t piece) { return (count + piece - 1) / piece; }

}  // namespace

Result<RecurrentKernels> generate_recurrent(const RecurrentProgram& program) {
  const bool half = program.dtype == DType::kF16 || program.dtype == DType::kBF16;
  if (!half && program.dtype != DType::kF32)
    return unsupported(fmt::format("recurrent layers of {}", dtype_name(program.dtype)));
  constexpr int64_t kMostExtent = int64_t{1} << 20;
  const auto directions = static_cast<int64_t>(program.reverse.size());
  if (program.time < 1 || program.batch < 1 || program.hidden < 1 || directions < 1 || directions > 2 ||
      program.hidden > kMostExtent || program.batch > kMostOfGridAxis || program.time > kMostExtent)
    return unsupported("recurrent layers of such extents");
  if (static_cast<int64_t>(program.functions.size()) < directions * program.functions_of_direction())
    return unsupported("recurrent layers without a function for each gate");
  int64_t unit = 1;
  const auto element = static_cast<int64_t>(dtype_size(program.dtype));
  while (unit * 2 * element <= 16 && program.hidden % (unit * 2) == 0) unit *= 2;
  int64_t sequences = 1;
  while (sequences < kMostSequences && sequences < program.batch) sequences *= 2;
  int reverse = 0;
  for (std::size_t d = 0; d < program.reverse.size(); ++d) reverse |= program.reverse[d] ? 1 << d : 0;
  const int64_t state = directions * program.batch * program.hidden;
  RecurrentKernels kernels;
  kernels.begin_blocks = pieces_of(state, kRecurrentThreads);
  kernels.step_grid[0] = pieces_of(program.hidden, kUnitsOfBlock);
  kernels.step_grid[1] = pieces_of(program.batch, sequences);
  kernels.step_grid[2] = directions;
  kernels.state_floats = 5 * state;
  std::string text = std::string(kBasePrelude);
  text += fmt::format(
      "typedef {} Element;\ntypedef {} Form;\n"
      "constexpr hone_i64 kTime = {}, kState = {};\n"
      "constexpr int kBatch = {}, kHidden = {}, kDirections = {}, kGates = {}, kReverse = {};\n"
      "constexpr int kUnit = {}, kSequences = {}, kUnitsOfBlock = {};\n"
      "constexpr bool kBatchFirst = {}, kInputForget = {};\n#define kClip {:a}f\n",
      half ? "unsigned short" : "float",
      !half                          ? "HoneIdentity<float>"
      : program.dtype == DType::kF16 ? "HoneF16"
                                     : "HoneBf16",
      program.time, state, program.batch, program.hidden, directions, program.gates(), reverse, unit,
      sequences, kUnitsOfBlock, program.batch_first, program.input_forget, static_cast<double>(program.clip));
  text += functions_text(program) + std::string(kRecurrentText) + step_text(program);
  kernels.source = {.name = "recurrent.cu", .text = std::move(text), .options = {}};
  return kernels;
}

}  // namespace hone::kernels::gpu
