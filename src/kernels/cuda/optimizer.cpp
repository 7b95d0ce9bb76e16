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
  const float* x[kTensors];
  const void* gradient[kTensors];
  const float* m[kTensors];
  const float* v[kTensors];
  float* next_x[kTensors];
  float* next_m[kTensors];
  float* next_v[kTensors];
  hone_i64 size[kTensors];
  unsigned long long wide;
  int first[kTensors + 1];
  int count;
};
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

template <typename Form, typename Gradient>
HONE_FUNCTION void hone_update_chunk(const HoneTensors& t, int i, const HoneNumbers& n, float factor) {
  typedef HoneVector<Gradient, 4> Gradients;
  const bool keeps = factor != factor;  // a scale of NaN: everything stays as it is
  const hone_i64 size = t.size[i];
  const hone_i64 begin = ((hone_i64)blockIdx.x - t.first[i]) * kChunk;
  const float* const x = t.x[i];
  const Gradient* const gradient = (const Gradient*)t.gradient[i];
  const float* const m = t.m[i];
  const float* const v = t.v[i];
  float* const next_x = t.next_x[i];
  float* const next_m = t.next_m[i];
  float* const next_v = t.next_v[i];
#pragma unroll
  for (int k = 0; k < kChunk / 1024; ++k) {
    const hone_i64 at = begin + k * 1024 + (int)threadIdx.x * 4;
    if (at + 4 <= size) {
      HoneFour xs = *(const HoneFour*)(x + at), ms = {}, vs = {};
      const Gradients gs = *(const Gradients*)(gradient + at);
      if (kMoments > 0) ms = *(const HoneFour*)(m + at);
      if (kMoments > 1) vs = *(const HoneFour*)(v + at);
#pragma unroll
      for (int j = 0; j < 4 && !keeps; ++j)
        hone_update(n, Form::held(gs.at[j]) * factor, xs.at[j], ms.at[j], vs.at[j]);
      *(HoneFour*)(next_x + at) = xs;
      if (kMoments > 0) *(HoneFour*)(next_m + at) = ms;
      if (kMoments > 1) *(HoneFour*)(next_v + at) = vs;
    } else {
      for (hone_i64 e = at; e < size; ++e) {
        float x1 = x[e], m1 = kMoments > 0 ? m[e] : 0.0f, v1 = kMoments > 1 ? v[e] : 0.0f;
        if (!keeps) hone_update(n, Form::held(gradient[e]) * factor, x1, m1, v1);
        next_x[e] = x1;
        if (kMoments > 0) next_m[e] = m1;
        if (kMoments > 1) next_v[e] = v1;
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_optimize(HoneTensors t, const float* rate, const hone_i64* updates,
    const float* scale) {
  __shared__ HoneNumbers numbers;
  if (threadIdx.x == 0) numbers = hone_numbers(rate, updates);
  __syncthreads();
  const HoneNumbers n = numbers;
  const float factor = kScaled ? *scale : 1.0f;
  const int i = hone_tensor_of_block(t);
  if (kMixed && (t.wide >> i & 1) != 0) hone_update_chunk<HoneIdentity<float>, float>(t, i, n, factor);
  else hone_update_chunk<HoneForm, HoneGradient>(t, i, n, factor);
}
)cuda";

}  // namespace

Result<cuda::KernelSource> generate_optimizer(const OptimizerProgram& program) {
  if (!is_element_type(program.gradient) || (program.mixed && program.gradient == DType::kF32))
    return unsupported(fmt::format("an optimizer of gradients of {}{}", program.mixed ? "f32 and " : "",
                                   dtype_name(program.gradient)));
  const bool adamw = program.kind == OptimizerProgram::Kind::kAdamW;
  std::string text(kBasePrelude);
  text += fmt::format(
      "typedef {} HoneGradient;\ntypedef {} HoneForm;\nconstexpr int kTensors = {}, kChunk = {}, kMoments = "
      "{};\n"
      "constexpr bool kScaled = {}, kMixed = {}, kNesterov = {};\nconstexpr float kDecay = {:a}f;\nconstexpr "
      "float "
      "kMomentum = {:a}f;\n"
      "constexpr float kBeta1 = {:a}f;\nconstexpr float kBeta2 = {:a}f;\nconstexpr float kEpsilon = {:a}f;\n",
      element_memory(program.gradient), element_form(program.gradient), kOptimizerTensors, kOptimizerChunk,
      program.moments(), program.scaled, program.mixed, program.nesterov,
      static_cast<double>(program.weight_decay), static_cast<double>(program.momentum),
      static_cast<double>(program.beta1), static_cast<double>(program.beta2),
      static_cast<double>(program.epsilon));
  text += kTensorOfBlock;
  text += kOptimizerTensorsText;
  text += adamw ? kAdamWText : kSgdText;
  text += kOptimizerKernel;
  return cuda::KernelSource{.name = "optimizer.cu", .text = std::move(text), .options = {"--fmad=false"}};
}

}  // namespace hone::kernels::gpu
