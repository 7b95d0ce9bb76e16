#include "kernels/cuda/cross_entropy.h"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int kStridedThreads = 256;

// The largest score and the sum of exponentials of differences to it: nothing overflows, and one read does. Halves get a nearby
// exponential, whose error is less than a step of what is summed.
constexpr std::string_view kLogSumText = R"cuda(
constexpr float kLogOfE = 1.44269504f;  // to the base 2
struct HoneLogSum { float most, sum; };
HONE_FUNCTION float hone_scale(float x, float most) { return x == most ? 1.0f : exp(x - most); }
HONE_FUNCTION HoneLogSum hone_join(HoneLogSum a, HoneLogSum b) {
  const float most = fmax(a.most, b.most);
  return HoneLogSum{most, a.sum * hone_scale(a.most, most) + b.sum * hone_scale(b.most, most)};
}
HONE_FUNCTION HoneLogSum hone_nothing() { return HoneLogSum{hone_float_of_bits(0xff800000u), 0.0f}; }
HONE_FUNCTION float hone_exp_of_difference(float x, float to) {
  return kHalf ? hone_near_exp2(fma(x, kLogOfE, -to * kLogOfE)) : exp(x - to);
}
HONE_FUNCTION void hone_tell(unsigned long long* fault, unsigned long long word) {
  if (fault) atomicCAS(fault, 0ull, word);
}
)cuda";

// Each thread's share of a sample, as so many loads at a time as hide their latency. Rows begin anywhere: what lies before the
// first address that a whole vector may have, and behind the last vector, is visited one by one.
constexpr std::string_view kEachScore = R"cuda(
template <typename Visit> HONE_FUNCTION void hone_each(const HoneScore* row, Visit visit) {
  constexpr int kBatch = 4;
  typedef HoneVector<HoneScore, 1> One;
  typedef HoneVector<HoneScore, kLanes> Wide;
  const int before = kLanes == 1 ? 0 : (int)((16 - (unsigned long long)row % 16) % 16 / sizeof(HoneScore));
  const int vectors = (kClasses - before) / kLanes;
  for (int c = hone_first(); c < before; c += kStep) visit(c, *(const One*)(row + c));
  for (int begin = hone_first(); begin < vectors; begin += kStep * kBatch) {
    Wide wide[kBatch];
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      const int v = begin + u * kStep;
      if (v < vectors) wide[u] = *(const Wide*)(row + before + (hone_i64)v * (kLanes * kInner));
    }
#pragma unroll
    for (int u = 0; u < kBatch; ++u)
      if (begin + u * kStep < vectors) visit(before + (begin + u * kStep) * kLanes, wide[u]);
  }
  for (int c = before + vectors * kLanes + hone_first(); c < kClasses; c += kStep) visit(c, *(const One*)(row + c));
}
// The scores as numbers; `to` gets results where they were.
template <int N> HONE_FUNCTION void hone_hold(const HoneVector<HoneScore, N>& x, float (&held)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) held[i] = HoneForm::held(x.at[i]);
}
template <typename Form, typename Memory, int N> HONE_FUNCTION void hone_show(Memory* to, int c, const float (&x)[N]) {
  hone_store<Form>(to + (hone_i64)c * kInner, x);
}

// A NaN is not the largest, and makes the sum one.
struct HoneAddScores {
  HoneLogSum& all;
  template <int N> HONE_FUNCTION void operator()(int, const HoneVector<HoneScore, N>& scores) const {
    float x[N], most = all.most;
    hone_hold(scores, x);
#pragma unroll
    for (int i = 0; i < N; ++i) most = fmax(most, x[i]);
    const float to = most == hone_float_of_bits(0xff800000u) ? 0.0f : most;
    float sum = all.sum * hone_exp_of_difference(all.most, to);
#pragma unroll
    for (int i = 0; i < N; ++i) sum += hone_exp_of_difference(x[i], to);
    all = HoneLogSum{most, sum};
  }
};
HONE_FUNCTION HoneLogSum hone_log_sum(const HoneScore* row) {
  HoneLogSum all = hone_nothing();
  hone_each(row, HoneAddScores{all});
  return hone_over_sample(all);
}
)cuda";

// Samples of neighbouring classes: kStep threads each.
constexpr std::string_view kRowSample = R"cuda(
HONE_FUNCTION int hone_first() { return (int)threadIdx.x; }
HONE_FUNCTION hone_i64 hone_sample() { return (hone_i64)blockIdx.x * blockDim.y + threadIdx.y; }
HONE_FUNCTION hone_i64 hone_place(hone_i64 sample) { return sample * kClasses; }
)cuda";
constexpr std::string_view kRowOverSample = R"cuda(
HONE_FUNCTION HoneLogSum hone_over_sample(HoneLogSum x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {
    const HoneLogSum other = HoneLogSum{__shfl_xor_sync(0xffffffffu, x.most, mask), __shfl_xor_sync(0xffffffffu, x.sum, mask)};
    x = hone_join(x, other);
  }
  if (kStep == 32) return x;
  __shared__ HoneLogSum parts[32];
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = parts[0];
  for (int i = 1; i < kStep / 32; ++i) x = hone_join(x, parts[i]);
  return x;
}
)cuda";

// A thread a sample; neighbouring threads have neighbouring samples.
constexpr std::string_view kStridedSample = R"cuda(
HONE_FUNCTION int hone_first() { return 0; }
HONE_FUNCTION hone_i64 hone_sample() { return (hone_i64)blockIdx.x * blockDim.x + threadIdx.x; }
HONE_FUNCTION hone_i64 hone_place(hone_i64 sample) { return sample / kInner * kInner * kClasses + sample % kInner; }
)cuda";
constexpr std::string_view kStridedOverSample = R"cuda(
HONE_FUNCTION HoneLogSum hone_over_sample(HoneLogSum x) { return x; }
)cuda";

// A warp that has no sample ends as a whole; a block of more threads a sample always has one.
constexpr std::string_view kLossKernel = R"cuda(
struct HoneShowLogs {
  HoneBeside* to;
  float log_sum;
  template <int N> HONE_FUNCTION void operator()(int c, const HoneVector<HoneScore, N>& scores) const {
    float x[N];
    hone_hold(scores, x);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] -= log_sum;
    hone_show<HoneBesideForm>(to, c, x);
  }
};

extern "C" __global__ void __launch_bounds__(kBlock, 1) hone_cross_entropy(const HoneScore* scores, const HoneTarget* targets,
    const float* class_weights, HoneLoss* losses, float* weights, HoneBeside* shown, unsigned long long* fault,
    unsigned long long word) {
  const hone_i64 sample = hone_sample();
  if (sample >= kSamples) return;
  const HoneScore* const row = scores + hone_place(sample);
  float log_sum = 0.0f;
  if (!kNormalised) {
    const HoneLogSum all = hone_log_sum(row);
    log_sum = all.most + log(all.sum);
  }
  if (kShows) hone_each(row, HoneShowLogs{shown + hone_place(sample), log_sum});
  if (hone_first() != 0) return;
  const hone_i64 target = (hone_i64)targets[sample];
  float loss = 0.0f, weight = 0.0f;
  if (!kIgnores || target != kIgnored) {
    if (target < 0 || target >= kClasses) {
      hone_tell(fault, word);
    } else {
      weight = kWeighted ? class_weights[target] : 1.0f;
      loss = (log_sum - HoneForm::held(row[target * kInner])) * weight;
    }
  }
  losses[sample] = hone_stored_loss(loss);
  if (kSums) weights[sample] = weight;
}
)cuda";

// One block: the order depends on the number of samples alone.
constexpr std::string_view kSumKernel = R"cuda(
extern "C" __global__ void __launch_bounds__(1024, 1) hone_sum_losses(const float* losses, const float* weights, HoneBeside* out) {
  __shared__ float sums[1024], counts[1024];
  float sum = 0.0f, count = 0.0f;
#pragma unroll 4
  for (hone_i64 i = threadIdx.x; i < kSamples; i += 1024) {
    sum += losses[i];
    count += weights[i];
  }
  sums[threadIdx.x] = sum;
  counts[threadIdx.x] = count;
  for (int half = 512; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) {
      sums[threadIdx.x] += sums[threadIdx.x + half];
      counts[threadIdx.x] += counts[threadIdx.x + half];
    }
  }
  if (threadIdx.x == 0) out[0] = HoneBesideForm::stored(kMean ? sums[0] / counts[0] : sums[0]);
}
)cuda";

// A thread reads what it writes before it writes, and all of a sample's have read the sum's terms by then.
constexpr std::string_view kGradientKernel = R"cuda(
struct HoneShowGradient {
  HoneScore* to;
  HoneLogSum all;
  float part, factor;  // of the sum; of the sample
  hone_i64 target;
  template <int N> HONE_FUNCTION void operator()(int c, const HoneVector<HoneScore, N>& scores) const {
    float x[N];
    hone_hold(scores, x);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float power = hone_exp_of_difference(x[i], all.most);
      const float p = kHalf ? power * part : power / all.sum;
      x[i] = (p - (c + i == target ? 1.0f : 0.0f)) * factor;
    }
    hone_show<HoneForm>(to, c, x);
  }
};

extern "C" __global__ void __launch_bounds__(kBlock, 1) hone_cross_entropy(const HoneScore* scores, const HoneTarget* targets,
    const HoneBeside* factors, HoneScore* out) {
  const hone_i64 sample = hone_sample();
  if (sample >= kSamples) return;
  const HoneScore* const row = scores + hone_place(sample);
  const HoneLogSum all = hone_log_sum(row);
  hone_each(row, HoneShowGradient{out + hone_place(sample), all, 1.0f / all.sum, HoneBesideForm::held(factors[sample]), (hone_i64)targets[sample]});
}
)cuda";

std::string cross_entropy_constants(const CrossEntropyProgram& program, int threads, int block,
                                    int64_t lanes) {
  using Reduction = CrossEntropyProgram::Reduction;
  const bool sums = program.reduction != Reduction::kNone;
  const std::string_view memory = element_memory(program.dtype), beside = element_memory(program.beside);
  return fmt::format(
      "typedef {} HoneScore;\ntypedef {} HoneForm;\ntypedef {} HoneBeside;\ntypedef {} HoneBesideForm;\n"
      "typedef {} HoneTarget;\ntypedef {} HoneLoss;\n"
      "HONE_FUNCTION HoneLoss hone_stored_loss(float x) {{ return {}; }}\n"
      "constexpr int kClasses = {}, kStep = {}, kBlock = {}, kLanes = {};\nconstexpr bool kHalf = "
      "{};\nconstexpr hone_i64 kInner = {}, kSamples = {}, "
      "kIgnored = {};\n"
      "constexpr bool kNormalised = {}, kWeighted = {}, kShows = {}, kIgnores = {}, kSums = {}, kMean = "
      "{};\n",
      memory, element_form(program.dtype), beside, element_form(program.beside),
      program.target == DType::kI32 ? "int" : "hone_i64", sums ? "float" : beside,
      sums ? "x" : "HoneBesideForm::stored(x)", program.classes, threads, block, lanes,
      program.dtype != DType::kF32, program.inner, program.outer * program.inner, program.ignored.value_or(0),
      program.normalised, program.weighted, program.shows, program.ignored.has_value(), sums,
      program.reduction == Reduction::kMean);
}

}  // namespace

Result<CrossEntropyKernel> generate_cross_entropy(const CrossEntropyProgram& program) {
  if (!is_element_type(program.dtype) || !is_element_type(program.beside))
    return unsupported(fmt::format("cross entropy of {}", dtype_name(program.dtype)));
  if (program.target != DType::kI64 && program.target != DType::kI32)
    return unsupported(fmt::format("classes of {}", dtype_name(program.target)));
  constexpr int64_t kMostClasses = int64_t{1} << 30;  // counted in 32 bits
  const int64_t samples = program.outer * program.inner;
  if (program.classes < 1 || program.classes > kMostClasses || samples < 1)
    return unsupported("cross entropy of so many classes and samples");
  const bool rows = program.inner == 1;
  CrossEntropyKernel kernel;
  // Short rows are read one by one; of longer ones, a thread has some four vectors.
  const int64_t lanes =
      rows && program.classes >= 128 ? 16 / static_cast<int64_t>(dtype_size(program.dtype)) : 1;
  if (rows) {
    const int64_t of_thread = lanes == 1 ? 8 : 4 * lanes;
    const auto wanted = std::bit_ceil(static_cast<uint64_t>((program.classes + of_thread - 1) / of_thread));
    kernel.threads_x = static_cast<int>(std::clamp<uint64_t>(wanted, 32, 512));
    kernel.threads_y = kernel.threads_x == 32 ? 4 : 1;
    kernel.blocks = (samples + kernel.threads_y - 1) / kernel.threads_y;
  } else {
    kernel.threads_x = kStridedThreads;
    kernel.threads_y = 1;
    kernel.blocks = (samples + kStridedThreads - 1) / kStridedThreads;
  }
  std::string text(kBasePrelude);
  text += cross_entropy_constants(program, rows ? kernel.threads_x : 1, kernel.threads_x * kernel.threads_y,
                                  lanes);
  text += rows ? kRowSample : kStridedSample;
  text += kLogSumText;
  text += rows ? kRowOverSample : kStridedOverSample;
  text += kEachScore;
  const bool gradient = program.kind == CrossEntropyProgram::Kind::kGradient;
  text += gradient ? kGradientKernel : kLossKernel;
  if (!gradient && program.reduction != CrossEntropyProgram::Reduction::kNone) text += kSumKernel;
  kernel.source = {.name = "cross_entropy.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
