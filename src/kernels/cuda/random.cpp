#include "kernels/cuda/random.h"

#include <string>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC11): 53 bits of number `index`.
constexpr std::string_view kPhiloxText = R"cuda(
typedef unsigned long long HoneWord;
struct HoneWords { unsigned first, second; };
HONE_FUNCTION HoneWords hone_words(HoneWord seed, HoneWord index) {
  unsigned c0 = (unsigned)index, c1 = (unsigned)(index >> 32), c2 = 0u, c3 = 0u;
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
  return {c0, c1};
}
HONE_FUNCTION HoneWord hone_bits(HoneWord seed, HoneWord index) {
  const HoneWords words = hone_words(seed, index);
  return ((HoneWord)words.first << 32 | words.second) >> 11;
}
)cuda";

constexpr std::string_view kDropoutBody = R"cuda(
  const double drops = kReadsRatio ? (double)*ratio : kRatio;
  const bool rests = (kMayRest && !*dropping) || drops == 0.0;
  const bool kept = rests || (double)hone_bits(number, at) >= drops * 0x1p53;
  const float value = HoneInForm::held(x[e]);
  out[e] = HoneOutForm::stored(rests ? value : kept ? value / (float)(1.0 - drops) : 0.0f);
  if (kMask) mask[e] = kept;
}
)cuda";
constexpr std::string_view kBernoulliBody = R"cuda(
  out[e] = HoneOutForm::stored((double)hone_bits(number, at) * 0x1p-53 < (double)HoneInForm::held(x[e]) ? 1 : 0);
}
)cuda";
constexpr std::string_view kUniformBody = R"cuda(
  out[e] = HoneOutForm::stored((float)(kLow + (kHigh - kLow) * ((double)hone_bits(number, at) * 0x1p-53)));
}
)cuda";

// Box and Muller's transform. The cosine of so many half turns needs no reduction, and so no local memory.
constexpr std::string_view kNormalText = R"cuda(
#ifdef HONE_ON_HOST
HONE_FUNCTION double hone_cospi(double x) { return cos(3.14159265358979323846 * x); }
#else
HONE_FUNCTION double hone_cospi(double x) { return cospi(x); }
#endif
HONE_FUNCTION double hone_normal(HoneWord seed, HoneWord index) {
  const HoneWords words = hone_words(seed, index);
  return sqrt(-2.0 * log(((double)words.first + 1.0) * 0x1p-32)) * hone_cospi((double)words.second * 0x1p-31);
}
)cuda";
constexpr std::string_view kNormalBody = R"cuda(
  out[e] = HoneOutForm::stored((float)(kLow + kHigh * hone_normal(number, at)));
}
)cuda";

// A thread has neighbouring classes: their weights' sum says whose interval a sample lies in, and who has it finds the class. A
// sample that nobody has, of weights that are no numbers, is the last class.
constexpr std::string_view kMultinomialText = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_multinomial(const HoneIn* weights, const HoneWord* seed,
    const HoneWord* place, HoneOut* out) {
  __shared__ double of_threads[256];
  const int t = (int)threadIdx.x;
  const hone_i64 row = blockIdx.x, first = (hone_i64)t * kEach, end = first + kEach < kClasses ? first + kEach : kClasses;
  weights += row * kClasses;
  double own = (double)HoneInForm::held(weights[0]);
  for (hone_i64 i = first; i < end; ++i) {
    const double x = HoneInForm::held(weights[i]);
    own = own < x ? x : own;
  }
  of_threads[t] = own;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (t < half && of_threads[t] < of_threads[t + half]) of_threads[t] = of_threads[t + half];
  }
  __syncthreads();
  const double largest = of_threads[0];
  __syncthreads();
  own = 0.0;
  for (hone_i64 i = first; i < end; ++i) own += exp((double)HoneInForm::held(weights[i]) - largest);
  of_threads[t] = own;
  __syncthreads();
  double before = 0.0, total = 0.0;
  for (int i = 0; i < 256; ++i) {
    if (i == t) before = total;
    total += of_threads[i];
  }
  for (hone_i64 s = t; s < kSamples; s += 256) out[row * kSamples + s] = (HoneOut)(kClasses - 1);
  __syncthreads();
  for (hone_i64 s = 0; s < kSamples; ++s) {
    const HoneWord at = *place + (HoneWord)(row * kSamples + s);
    const double point = (double)hone_bits(*seed, at) * 0x1p-53 * total;
    if (!(point >= before && point < before + own)) continue;
    double remaining = point - before;
    hone_i64 i = first;
    for (; i < end - 1; ++i) {
      remaining -= exp((double)HoneInForm::held(weights[i]) - largest);
      if (remaining < 0.0) break;
    }
    out[row * kSamples + s] = (HoneOut)i;
  }
}
)cuda";

std::string_view random_memory(DType dtype) {
  return dtype == DType::kBool ? "hone_bool" : element_memory(dtype);
}
std::string_view random_form(DType dtype) { return dtype == DType::kBool ? "HoneBool" : element_form(dtype); }

}  // namespace

Result<RandomKernel> generate_random(const RandomProgram& program) {
  const bool bernoulli = program.function == RandomFunction::kBernoulli;
  if (!is_element_type(program.in) ||
      !(is_element_type(program.out) || (bernoulli && program.out == DType::kBool)))
    return unsupported(fmt::format("random numbers of {}", dtype_name(program.out)));
  if (program.elements < 1) return unsupported("random numbers of no elements");
  RandomKernel kernel;
  kernel.blocks = (program.elements + kRandomBlock - 1) / kRandomBlock;
  std::string text(kBasePrelude);
  text += kPhiloxText;
  if (program.function == RandomFunction::kNormal) text += kNormalText;
  text += fmt::format(
      "typedef {} HoneIn;\ntypedef {} HoneInForm;\ntypedef {} HoneOut;\ntypedef {} HoneOutForm;\n"
      "constexpr bool kReadsRatio = {}, kMayRest = {}, kMask = {};\nconstexpr double kRatio = "
      "{:a};\nconstexpr double kLow = {:a};\n"
      "constexpr double kHigh = {:a};\n",
      random_memory(program.in), random_form(program.in), random_memory(program.out),
      random_form(program.out), program.reads_ratio, program.may_rest, program.mask, program.ratio,
      program.low, program.high);
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}, 1) {1}(const HoneIn* x, const HoneWord* seed, "
      "const "
      "HoneWord* place,\n    const float* ratio, const hone_bool* dropping, HoneOut* out, hone_bool* mask) "
      "{{\n"
      "  const hone_i64 e = (hone_i64)blockIdx.x * {0} + threadIdx.x;\n  if (e >= {2}LL) return;\n"
      "  const HoneWord number = *seed, at = *place + (HoneWord)e;",
      kRandomBlock, kRandomEntry, program.elements);
  switch (program.function) {
    case RandomFunction::kDropout:
      text += kDropoutBody;
      break;
    case RandomFunction::kBernoulli:
      text += kBernoulliBody;
      break;
    case RandomFunction::kUniform:
      text += kUniformBody;
      break;
    case RandomFunction::kNormal:
      text += kNormalBody;
      break;
  }
  kernel.source = {.name = "random.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

Result<cuda::KernelSource> generate_multinomial(const MultinomialProgram& program) {
  const auto weights = number_form(program.in);
  if (!weights || !is_float(program.in) || (program.out != DType::kI32 && program.out != DType::kI64))
    return unsupported(fmt::format("classes drawn by weights of {}", dtype_name(program.in)));
  if (program.rows < 1 || program.classes < 1 || program.samples < 1)
    return unsupported("drawing none of no classes");
  std::string text(kBasePrelude);
  text += kPhiloxText;
  text += fmt::format(
      "typedef {} HoneIn;\ntypedef {} HoneInForm;\ntypedef {} HoneOut;\n"
      "constexpr hone_i64 kClasses = {}, kSamples = {}, kEach = {};\n",
      weights->memory, weights->form, program.out == DType::kI32 ? "int" : "hone_i64", program.classes,
      program.samples, (program.classes + kRandomBlock - 1) / kRandomBlock);
  text += kMultinomialText;
  return cuda::KernelSource{.name = "multinomial.cu", .text = std::move(text), .options = {"--fmad=false"}};
}

}  // namespace hone::kernels::gpu
