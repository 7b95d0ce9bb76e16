#include "kernels/cuda/optimizer.h"

#include <string>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"
#include "kernels/cuda/tensor_list.h"

namespace hone::kernels::gpu {
namespace {

constexpr std::string_view kOptimizerTensorsText = R"cuda(
struct HoneTensors {
  const HoneParameter* x[kTensors];
  const void* gradient[kTensors];
  const float* m[kTensors];
  const float* v[kTensors];
  HoneParameter* next_x[kTensors];
  float* next_m[kTensors];
  float* next_v[kTensors];
  hone_i64 size[kTensors];
  unsigned long long wide;
  int number[kTensors];
  int first[kTensors + 1];
  int count;
};
)cuda";

// Parameters of bf16 are rounded stochastically: core/stochastic_rounding.h says by which bits. Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3" (SC11): the bits of four elements are half a block.
constexpr std::string_view kRoundingText = R"cuda(
typedef unsigned long long HoneWord;
struct HoneHalves { unsigned at[4]; };
HONE_FUNCTION HoneHalves hone_halves(HoneWord seed, HoneWord stream, HoneWord element) {
  const HoneWord index = element / 8;
  unsigned c0 = (unsigned)index, c1 = (unsigned)(index >> 32), c2 = (unsigned)stream, c3 = (unsigned)(stream >> 32);
  unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const HoneWord a = 0xD2511F53ull * c0, b = 0xCD9E8D57ull * c2;
    c0 = (unsigned)(b >> 32) ^ c1 ^ k0;
    c1 = (unsigned)b;
    c2 = (unsigned)(a >> 32) ^ c3 ^ k1;
    c3 = (unsigned)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const unsigned first = element % 8 == 0 ? c0 : c2, second = element % 8 == 0 ? c1 : c3;
  HoneHalves halves;
  halves.at[0] = first & 0xffffu;
  halves.at[1] = first >> 16;
  halves.at[2] = second & 0xffffu;
  halves.at[3] = second >> 16;
  return halves;
}
HONE_FUNCTION HoneParameter hone_rounded(float x, unsigned half) {
  const unsigned bits = hone_bits_of_float(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return HoneParameterForm::stored(x);
  return (HoneParameter)((bits + half) >> 16);
}
)cuda";
constexpr std::string_view kNoRoundingText = R"cuda(
typedef unsigned long long HoneWord;
struct HoneHalves { unsigned at[4]; };
HONE_FUNCTION HoneHalves hone_halves(HoneWord, HoneWord, HoneWord) { return HoneHalves{}; }
HONE_FUNCTION HoneParameter hone_rounded(float x, unsigned) { return x; }
)cuda";

// What the numbers of one update make of an element. Loshchilov and Hutter, "Decoupled Weight Decay Regularization".
constexpr std::string_view kAdamWText = R"cuda(
struct HoneNumbers { float keep, step, second; };
HONE_FUNCTION HoneNumbers hone_numbers(const float* rate, const hone_i64* updates) {
  const double t = (double)(*updates + 1);
  HoneNumbers n;
  n.keep = 1.0f - *rate * kDecay;
  n.step = (float)((double)*rate / (1.0 - pow((double)kBeta1, t)));
  n.second = (float)(1.0 / (1.0 - pow((double)kBeta2, t)));
  return n;
}
HONE_FUNCTION void hone_update(const HoneNumbers& n, float g, float& x, float& m, float& v) {
  m = kBeta1 * m + (1.0f - kBeta1) * g;
  v = kBeta2 * v + (1.0f - kBeta2) * g * g;
  x = x * n.keep - n.step * m / (sqrt(v * n.second) + kEpsilon);
}
)cuda";

// As torch.optim.SGD with dampening 0.
constexpr std::string_view kSgdText = R"cuda(
struct HoneNumbers { float rate; };
HONE_FUNCTION HoneNumbers hone_numbers(const float* rate, const hone_i64*) { return HoneNumbers{*rate}; }
HONE_FUNCTION void hone_update(const HoneNumbers& n, float g, float& x, float& m, float&) {
  g += kDecay * x;
  if (kMoments == 0) { x -= n.rate * g; return; }
  m = kMomentum * m + g;
  x -= n.rate * (kNesterov ? g + kMomentum * m : m);
}
)cuda";

// Four elements a load; the end of a tensor one by one. All threads of a block are of one tensor, so that its gradient's type
// is a branch that none of them takes alone.
constexpr std::string_view kOptimizerKernel = R"cuda(
typedef HoneVector<float, 4> HoneFour;
typedef HoneVector<HoneParameter, 4> HoneParameters;

template <typename Form, typename Gradient>
HONE_FUNCTION void hone_update_chunk(const HoneTensors& t, int i, const HoneNumbers& n, float factor, HoneWord seed,
    HoneWord stream) {
  typedef HoneVector<Gradient, 4> Gradients;
  const bool keeps = factor != factor;  // a scale of NaN: everything stays as it is
  const hone_i64 size = t.size[i];
  const hone_i64 begin = ((hone_i64)blockIdx.x - t.first[i]) * kChunk;
  const HoneParameter* const x = t.x[i];
  const Gradient* const gradient = (const Gradient*)t.gradient[i];
  const float* const m = t.m[i];
  const float* const v = t.v[i];
  HoneParameter* const next_x = t.next_x[i];
  float* const next_m = t.next_m[i];
  float* const next_v = t.next_v[i];
#pragma unroll
  for (int k = 0; k < kChunk / 1024; ++k) {
    const hone_i64 at = begin + k * 1024 + (int)threadIdx.x * 4;
    if (at >= size) continue;
    const HoneHalves halves = hone_halves(seed, stream, (HoneWord)at);
    if (at + 4 <= size) {
      HoneParameters xs = *(const HoneParameters*)(x + at);
      HoneFour ms = {}, vs = {};
      const Gradients gs = *(const Gradients*)(gradient + at);
      if (kMoments > 0) ms = *(const HoneFour*)(m + at);
      if (kMoments > 1) vs = *(const HoneFour*)(v + at);
#pragma unroll
      for (int j = 0; j < 4 && !keeps; ++j) {
        float x1 = HoneParameterForm::held(xs.at[j]);
        hone_update(n, Form::held(gs.at[j]) * factor, x1, ms.at[j], vs.at[j]);
        xs.at[j] = hone_rounded(x1, halves.at[j]);
      }
      *(HoneParameters*)(next_x + at) = xs;
      if (kMoments > 0) *(HoneFour*)(next_m + at) = ms;
      if (kMoments > 1) *(HoneFour*)(next_v + at) = vs;
    } else {
      for (int j = 0; j < 3 && at + j < size; ++j) {
        const hone_i64 e = at + j;
        float x1 = HoneParameterForm::held(x[e]), m1 = kMoments > 0 ? m[e] : 0.0f, v1 = kMoments > 1 ? v[e] : 0.0f;
        if (!keeps) hone_update(n, Form::held(gradient[e]) * factor, x1, m1, v1);
        next_x[e] = keeps ? x[e] : hone_rounded(x1, halves.at[j]);
        if (kMoments > 0) next_m[e] = m1;
        if (kMoments > 1) next_v[e] = v1;
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_optimize(HoneTensors t, const float* rate, const hone_i64* updates,
    const float* scale, HoneWord seed) {
  __shared__ HoneNumbers numbers;
  if (threadIdx.x == 0) numbers = hone_numbers(rate, updates);
  __syncthreads();
  const HoneNumbers n = numbers;
  const float factor = kScaled ? *scale : 1.0f;
  const int i = hone_tensor_of_block(t);
  const HoneWord stream = kRounds ? ((HoneWord)t.number[i] + 1) << 40 | (HoneWord)*updates : 0;
  if (kMixed && (t.wide >> i & 1) != 0) hone_update_chunk<HoneIdentity<float>, float>(t, i, n, factor, seed, stream);
  else hone_update_chunk<HoneForm, HoneGradient>(t, i, n, factor, seed, stream);
}
)cuda";

}  // namespace

Result<cuda::KernelSource> generate_optimizer(const OptimizerProgram& program) {
  if (!is_element_type(program.gradient) || (program.mixed && program.gradient == DType::kF32))
    return unsupported(fmt::format("an optimizer of gradients of {}{}", program.mixed ? "f32 and " : "",
                                   dtype_name(program.gradient)));
  if (program.parameter != DType::kF32 && program.parameter != DType::kBF16)
    return unsupported(fmt::format("an optimizer of parameters of {}", dtype_name(program.parameter)));
  const bool adamw = program.kind == OptimizerProgram::Kind::kAdamW;
  std::string text(kBasePrelude);
  text += fmt::format(
      "typedef {} HoneGradient;\ntypedef {} HoneForm;\ntypedef {} HoneParameter;\ntypedef {} "
      "HoneParameterForm;\nconstexpr int kTensors = {}, kChunk = {}, kMoments = "
      "{};\n"
      "constexpr bool kRounds = {}, kScaled = {}, kMixed = {}, kNesterov = {};\nconstexpr float kDecay = "
      "{:a}f;\nconstexpr float "
      "kMomentum = {:a}f;\n"
      "constexpr float kBeta1 = {:a}f;\nconstexpr float kBeta2 = {:a}f;\nconstexpr float kEpsilon = {:a}f;\n",
      element_memory(program.gradient), element_form(program.gradient), element_memory(program.parameter),
      element_form(program.parameter), kOptimizerTensors, kOptimizerChunk, program.moments(),
      program.rounds(), program.scaled, program.mixed, program.nesterov,
      static_cast<double>(program.weight_decay), static_cast<double>(program.momentum),
      static_cast<double>(program.beta1), static_cast<double>(program.beta2),
      static_cast<double>(program.epsilon));
  text += kTensorOfBlock;
  text += kOptimizerTensorsText;
  text += program.rounds() ? kRoundingText : kNoRoundingText;
  text += adamw ? kAdamWText : kSgdText;
  text += kOptimizerKernel;
  return cuda::KernelSource{.name = "optimizer.cu", .text = std::move(text), .options = {"--fmad=false"}};
}

}  // namespace hone::kernels::gpu
