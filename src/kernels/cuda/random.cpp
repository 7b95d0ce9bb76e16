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
HONE_FUNCTION HoneWord hone_bits(HoneWord seed, HoneWord index) {
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
  return ((HoneWord)c0 << 32 | c1) >> 11;
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
  }
  kernel.source = {.name = "random.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
