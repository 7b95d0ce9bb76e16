#include "kernels/cuda/batch_norm.h"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kStatisticsThreads = 256;
constexpr int64_t kWantedStatisticsBlocks = 528;  // four for each multiprocessor of the largest GPUs
constexpr int64_t kLeastLoadsOfThread = 4;        // less than which no part is worth joining
constexpr int64_t kMostStatisticsParts = 512;

// A number of elements, their mean and squared differences to it; of what flows in the sum, and that of its products with
// those differences.
constexpr std::string_view kStateText = R"cuda(
struct HoneState { float count, mean, squares, flow, product; };
HONE_FUNCTION HoneState hone_join(HoneState a, HoneState b) {
  if (b.count == 0.0f) return a;
  if (a.count == 0.0f) return b;
  HoneState all;
  all.count = a.count + b.count;
  const float share = b.count / all.count, apart = b.mean - a.mean;
  all.mean = a.mean + apart * share;
  all.squares = a.squares + b.squares + apart * apart * a.count * share;
  all.flow = a.flow + b.flow;
  all.product = a.product + (a.mean - all.mean) * a.flow + (b.product + (b.mean - all.mean) * b.flow);
  return all;
}
)cuda";

// A thread sums differences to the first element that it meets, so that a large mean costs no digits. With channels last it has
// so many neighbouring channels as a load holds, else a load is of one channel.
constexpr std::string_view kStatisticsKernel = R"cuda(
typedef HoneVector<HoneElement, kLanes> HoneWide;

extern "C" __global__ void __launch_bounds__(256, 1) hone_batch_statistics(const HoneElement* x, const HoneElement* gradient,
    const HoneElement* passed, float* partial) {
  const int group = (int)(blockIdx.x * kX + threadIdx.x);
  const hone_i64 begin = kLoads * (hone_i64)blockIdx.y / kParts, end = kLoads * ((hone_i64)blockIdx.y + 1) / kParts;
  float first[kOwn] = {}, sum[kOwn] = {}, squares[kOwn] = {}, flow[kOwn] = {}, product[kOwn] = {};
  int loads = 0;
  if (group < kGroups) {
    if (begin + (hone_i64)threadIdx.y < end) {
      const HoneWide xs = *(const HoneWide*)(x + hone_at(begin + threadIdx.y, group));
#pragma unroll
      for (int i = 0; i < kOwn; ++i) first[i] = HoneForm::held(xs.at[i]);
    }
#pragma unroll 4
    for (hone_i64 e = begin + threadIdx.y; e < end; e += kY) {
      const hone_i64 at = hone_at(e, group);
      const HoneWide xs = *(const HoneWide*)(x + at);
      HoneWide gs = {}, ps = {};
      if (kGradient) gs = *(const HoneWide*)(gradient + at);
      if (kRelu) ps = *(const HoneWide*)(passed + at);
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        const int own = i % kOwn;
        const float d = HoneForm::held(xs.at[i]) - first[own];
        sum[own] += d;
        squares[own] = fma(d, d, squares[own]);
        if (kGradient) {
          const float g = !kRelu || HoneForm::held(ps.at[i]) > 0.0f ? HoneForm::held(gs.at[i]) : 0.0f;
          flow[own] += g;
          product[own] = fma(g, d, product[own]);
        }
      }
      ++loads;
    }
  }
  __shared__ HoneState states[kY][kX * kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    HoneState own = {};
    if (loads > 0) {
      own.count = (float)loads * (kLanes / kOwn);
      const float mean = sum[i] / own.count;
      own.mean = first[i] + mean;
      own.squares = squares[i] - sum[i] * mean;
      if (own.squares < 0.0f) own.squares = 0.0f;
      own.flow = flow[i];
      own.product = product[i] - mean * flow[i];
    }
    states[threadIdx.y][threadIdx.x + i * kX] = own;
  }
  for (int half = kY / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.y < half) {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int at = (int)threadIdx.x + i * kX;
        states[threadIdx.y][at] = hone_join(states[threadIdx.y][at], states[threadIdx.y + half][at]);
      }
    }
  }
  if (threadIdx.y != 0 || group >= kGroups) return;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const HoneState own = states[0][threadIdx.x + i * kX];
    float* const to = partial + (hone_i64)blockIdx.y * kFields * kChannels + group * kOwn + i;
    to[0] = own.count;
    to[kChannels] = own.mean;
    to[2 * kChannels] = own.squares;
    if (kGradient) {
      to[3 * kChannels] = own.flow;
      to[4 * kChannels] = own.product;
    }
  }
}
)cuda";

// A row of 32 threads has neighbouring channels, each row every so many parts.
constexpr std::string_view kJoinStatistics = R"cuda(
extern "C" __global__ void __launch_bounds__(512, 1) hone_join_statistics(const float* partial, const float* scale,
    const float* mean, const float* variance, float* next_mean, float* next_variance, float* dscale, float* dbias,
    float* coefficients) {
  const int channel = (int)(blockIdx.x * 32 + threadIdx.x);
  HoneState all = {};
  if (channel < kChannels) {
#pragma unroll 4
    for (int part = (int)threadIdx.y; part < kParts; part += 16) {
      const float* const from = partial + (hone_i64)part * kFields * kChannels + channel;
      HoneState next = {};
      next.count = from[0];
      next.mean = from[kChannels];
      next.squares = from[2 * kChannels];
      if (kGradient) {
        next.flow = from[3 * kChannels];
        next.product = from[4 * kChannels];
      }
      all = hone_join(all, next);
    }
  }
  __shared__ HoneState states[16][32];
  states[threadIdx.y][threadIdx.x] = all;
  for (int half = 8; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.y < half)
      states[threadIdx.y][threadIdx.x] =
          hone_join(states[threadIdx.y][threadIdx.x], states[threadIdx.y + half][threadIdx.x]);
  }
  if (threadIdx.y != 0 || channel >= kChannels) return;
  all = states[0][threadIdx.x];
  const float own_variance = all.squares / kCount;
  const float inverse = 1.0f / sqrt(own_variance + kEpsilon);
  coefficients[channel] = all.mean;
  coefficients[kRow + channel] = scale[channel] * inverse;
  if (kGradient) {
    dscale[channel] = all.product * inverse;
    dbias[channel] = all.flow;
    coefficients[2 * kRow + channel] = all.flow / kCount;
    coefficients[3 * kRow + channel] = all.product / kCount * inverse * inverse;
  } else {
    if (next_mean) next_mean[channel] = mean[channel] * kMomentum + all.mean * (1.0f - kMomentum);
    if (next_variance) next_variance[channel] = variance[channel] * kMomentum + own_variance * (1.0f - kMomentum);
  }
}
)cuda";

// With channels last: a thread keeps its channels' numbers in registers over many rows, some of which it reads before it writes
// any, which may be over what it reads.
constexpr std::string_view kElementsKernel = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_batch_elements(const HoneElement* x, const HoneElement* gradient,
    const HoneElement* passed, const float* coefficients, const float* bias, HoneElement* out) {
  const int group = (int)(blockIdx.x * kX + threadIdx.x);
  if (group >= kGroups) return;
  float mean[kOwn], factor[kOwn], even[kOwn], along[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int channel = group * kOwn + i;
    mean[i] = coefficients[channel];
    factor[i] = coefficients[kRow + channel];
    even[i] = kGradient ? coefficients[2 * kRow + channel] : bias[channel];
    along[i] = kGradient ? coefficients[3 * kRow + channel] : 0.0f;
  }
  const hone_i64 step = (hone_i64)kY * gridDim.y;
  for (hone_i64 e = (hone_i64)blockIdx.y * kY + threadIdx.y; e < kLoads; e += step * kAtOnce) {
    HoneWide xs[kAtOnce] = {}, gs[kAtOnce] = {}, ps[kAtOnce] = {};
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (e + k * step >= kLoads) break;
      const hone_i64 at = hone_at(e + k * step, group);
      xs[k] = *(const HoneWide*)(x + at);
      if (kGradient) gs[k] = *(const HoneWide*)(gradient + at);
      if (kRelu) ps[k] = *(const HoneWide*)(passed + at);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (e + k * step >= kLoads) break;
      HoneWide to;
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const float d = HoneForm::held(xs[k].at[i]) - mean[i];
        const float g = !kRelu || HoneForm::held(ps[k].at[i]) > 0.0f ? HoneForm::held(gs[k].at[i]) : 0.0f;
        const float y = kGradient ? (g - even[i] - d * along[i]) * factor[i] : d * factor[i] + even[i];
        to.at[i] = HoneForm::stored(kClips && y < 0.0f ? 0.0f : y);
      }
      *(HoneWide*)(out + hone_at(e + k * step, group)) = to;
    }
  }
}
)cuda";

constexpr int64_t kAtOnce = 4;  // rows that a thread of kElementsKernel reads before it writes
constexpr int64_t kMostElementBlocks = 132 * 16;

struct StatisticsPlan {
  int64_t x = 1, y = kStatisticsThreads;  // threads of a block: groups of channels, and loads of each
  int64_t lanes = 1;                      // elements of one load
  int64_t own = 1;                        // channels of a group
  int64_t groups = 1;
  int64_t loads = 1;  // of a group
  int64_t blocks = 1, parts = 1;
};

StatisticsPlan statistics_plan(const BatchNormProgram& program) {
  StatisticsPlan plan;
  const auto element = static_cast<int64_t>(dtype_size(program.dtype));
  const int64_t neighbours = program.channels_last ? program.channels : program.positions;
  while (plan.lanes * 2 * element <= 16 && neighbours % (plan.lanes * 2) == 0) plan.lanes *= 2;
  plan.own = program.channels_last ? plan.lanes : 1;
  plan.groups = program.channels / plan.own;
  if (program.channels_last)
    plan.x = static_cast<int64_t>(std::min<uint64_t>(32, std::bit_ceil(static_cast<uint64_t>(plan.groups))));
  plan.y = kStatisticsThreads / plan.x;
  plan.loads = program.batch * program.positions * plan.own / plan.lanes;
  plan.blocks = (plan.groups + plan.x - 1) / plan.x;
  const int64_t wanted = (kWantedStatisticsBlocks + plan.blocks - 1) / plan.blocks;
  plan.parts = std::clamp<int64_t>(std::min(wanted, plan.loads / (plan.y * kLeastLoadsOfThread)), 1,
                                   kMostStatisticsParts);
  return plan;
}

// Where load `e` of a group of channels begins.
std::string load_place(const BatchNormProgram& program, const StatisticsPlan& plan) {
  if (program.channels_last)
    return fmt::format(
        "HONE_FUNCTION hone_i64 hone_at(hone_i64 e, int group) {{ return e * {}LL + group * {}; }}\n",
        program.channels, plan.own);
  const int64_t of_plane = program.positions / plan.lanes;
  return fmt::format(
      "HONE_FUNCTION hone_i64 hone_at(hone_i64 e, int channel) {{\n  return (e / {0}LL * {1}LL + channel) * "
      "{2}LL + e % {0}LL * {3}LL;\n}}\n",
      of_plane, program.channels, program.positions, plan.lanes);
}

constexpr int64_t kRowMultiple = 16;  // numbers: rows of coefficients are aligned as tensors are

int64_t coefficient_row(const BatchNormProgram& program) {
  return (program.channels + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
}

}  // namespace

Result<BatchNormKernels> generate_batch_norm(const BatchNormProgram& program) {
  if (!is_element_type(program.dtype))
    return unsupported(fmt::format("batch statistics of {}", dtype_name(program.dtype)));
  constexpr int64_t kMostChannels = int64_t{1} << 24;  // counted in 32 bits
  const int64_t count = program.batch * program.positions;
  if (count < 1 || program.channels < 1 || program.channels > kMostChannels)
    return unsupported("batch statistics of nothing");
  const StatisticsPlan plan = statistics_plan(program);
  const int64_t fields = program.gradient ? 5 : 3;
  BatchNormKernels kernels;
  kernels.blocks = plan.blocks;
  kernels.parts = plan.parts;
  kernels.threads_x = static_cast<int>(plan.x);
  kernels.threads_y = static_cast<int>(plan.y);
  kernels.join_blocks = (program.channels + 31) / 32;
  if (program.channels_last) {
    const int64_t rows = (plan.loads + plan.y * kAtOnce - 1) / (plan.y * kAtOnce);
    kernels.element_rows = std::clamp<int64_t>(kMostElementBlocks / plan.blocks, 1, rows);
  }
  kernels.partial_bytes = static_cast<std::size_t>(plan.parts * fields * program.channels) * 4;
  kernels.coefficients = program.gradient ? 4 : 2;
  kernels.coefficient_bytes = coefficient_row(program) * 4;
  std::string text(kBasePrelude);
  text += fmt::format(
      "typedef {} HoneElement;\ntypedef {} HoneForm;\nconstexpr hone_i64 kLoads = {}, kRow = {};\n"
      "constexpr int kX = {}, kY = {}, kLanes = {}, kOwn = {}, kGroups = {}, kParts = {}, kChannels = {}, "
      "kFields "
      "= {}, kAtOnce = {};\n"
      "constexpr bool kGradient = {}, kRelu = {}, kClips = {};\nconstexpr float kCount = {}.0f;\nconstexpr "
      "float kEpsilon "
      "= {:a}f;\n"
      "constexpr float kMomentum = {:a}f;\n",
      element_memory(program.dtype), element_form(program.dtype), plan.loads, coefficient_row(program),
      plan.x, plan.y, plan.lanes, plan.own, plan.groups, plan.parts, program.channels, fields, kAtOnce,
      program.gradient, program.gradient && program.relu, !program.gradient && program.relu, count,
      static_cast<double>(program.epsilon), static_cast<double>(program.momentum));
  text += load_place(program, plan);
  text += kStateText;
  text += kStatisticsKernel;
  text += kJoinStatistics;
  if (program.channels_last) text += kElementsKernel;
  kernels.source = {.name = "batch_norm.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernels;
}

PointwiseProgram batch_norm_elements(const BatchNormProgram& program) {
  PointwiseProgram elements;
  std::vector<int64_t> image, channel;  // strides
  if (program.channels_last) {
    elements.shape = {program.batch * program.positions, program.channels};
    image = {program.channels, 1};
    channel = {0, 1};
  } else {
    elements.shape = {program.batch, program.channels, program.positions};
    image = {program.channels * program.positions, program.positions, 1};
    channel = {0, 1, 0};
  }
  const auto of_image = [&] {
    const int x = elements.input(program.dtype, image);
    return program.dtype == DType::kF32 ? x : elements.cast(x, DType::kF32);
  };
  const auto of_channel = [&] { return elements.input(DType::kF32, channel); };
  using Op = PointwiseOp;
  if (!program.gradient) {
    const int x = of_image(), mean = of_channel(), factor = of_channel(), bias = of_channel();
    const int scaled = elements.apply(Op::kMul, elements.apply(Op::kSub, x, mean), factor);
    const int moved = elements.apply(Op::kAdd, scaled, bias);
    elements.output(program.relu ? elements.apply(Op::kRelu, moved) : moved, program.dtype);
    return elements;
  }
  int flow = of_image();
  const int x = of_image();
  if (program.relu) {
    const int zero = elements.constant(DType::kF32, 0);
    flow = elements.apply(Op::kWhere, elements.apply(Op::kGreater, of_image(), zero), flow, zero);
  }
  const int mean = of_channel(), factor = of_channel(), even = of_channel(), along = of_channel();
  const int centred = elements.apply(Op::kSub, x, mean);
  const int rest = elements.apply(Op::kSub, elements.apply(Op::kSub, flow, even),
                                  elements.apply(Op::kMul, centred, along));
  elements.output(elements.apply(Op::kMul, rest, factor), program.dtype);
  return elements;
}

}  // namespace hone::kernels::gpu
