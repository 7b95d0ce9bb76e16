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

// A thread sums differences to the first element that it meets, so that a large mean costs no digits.
constexpr std::string_view kStatisticsKernel = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_batch_statistics(const HoneElement* x, const HoneElement* gradient,
    const HoneElement* passed, float* partial) {
  typedef HoneVector<HoneElement, kLanes> Wide;
  const int channel = (int)(blockIdx.x * kX + threadIdx.x);
  const hone_i64 begin = kLoads * (hone_i64)blockIdx.y / kParts, end = kLoads * ((hone_i64)blockIdx.y + 1) / kParts;
  float first = 0.0f, sum = 0.0f, squares = 0.0f, flow = 0.0f, product = 0.0f;
  int loads = 0;
  if (channel < kChannels) {
    if (begin + (hone_i64)threadIdx.y < end) first = HoneForm::held(x[hone_at(begin + threadIdx.y, channel)]);
#pragma unroll 4
    for (hone_i64 e = begin + threadIdx.y; e < end; e += kY) {
      const hone_i64 at = hone_at(e, channel);
      const Wide xs = *(const Wide*)(x + at);
      Wide gs = {}, ps = {};
      if (kGradient) gs = *(const Wide*)(gradient + at);
      if (kRelu) ps = *(const Wide*)(passed + at);
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        const float d = HoneForm::held(xs.at[i]) - first;
        sum += d;
        squares += d * d;
        if (kGradient) {
          const float g = !kRelu || HoneForm::held(ps.at[i]) > 0.0f ? HoneForm::held(gs.at[i]) : 0.0f;
          flow += g;
          product += g * d;
        }
      }
      ++loads;
    }
  }
  HoneState own = {};
  if (loads > 0) {
    own.count = (float)loads * kLanes;
    const float mean = sum / own.count;
    own.mean = first + mean;
    own.squares = squares - sum * mean;
    if (own.squares < 0.0f) own.squares = 0.0f;
    own.flow = flow;
    own.product = product - mean * flow;
  }
  __shared__ HoneState states[kY][kX];
  states[threadIdx.y][threadIdx.x] = own;
  for (int half = kY / 2; half > 0; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.y < half)
      states[threadIdx.y][threadIdx.x] =
          hone_join(states[threadIdx.y][threadIdx.x], states[threadIdx.y + half][threadIdx.x]);
  }
  if (threadIdx.y != 0 || channel >= kChannels) return;
  own = states[0][threadIdx.x];
  float* const to = partial + (hone_i64)blockIdx.y * kFields * kChannels + channel;
  to[0] = own.count;
  to[kChannels] = own.mean;
  to[2 * kChannels] = own.squares;
  if (kGradient) {
    to[3 * kChannels] = own.flow;
    to[4 * kChannels] = own.product;
  }
}
)cuda";

// A warp a channel.
constexpr std::string_view kJoinStatistics = R"cuda(
HONE_FUNCTION HoneState hone_whole(const float* partial, int channel) {
  HoneState all = {};
  if (channel < kChannels) {
    for (int part = (int)(threadIdx.x % 32); part < kParts; part += 32) {
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
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {
    HoneState other;
    other.count = __shfl_xor_sync(0xffffffffu, all.count, mask);
    other.mean = __shfl_xor_sync(0xffffffffu, all.mean, mask);
    other.squares = __shfl_xor_sync(0xffffffffu, all.squares, mask);
    other.flow = __shfl_xor_sync(0xffffffffu, all.flow, mask);
    other.product = __shfl_xor_sync(0xffffffffu, all.product, mask);
    all = hone_join(all, other);
  }
  return all;
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_join_statistics(const float* partial, const float* scale,
    const float* mean, const float* variance, float* next_mean, float* next_variance, float* dscale, float* dbias,
    float* coefficients) {
  const int channel = (int)(blockIdx.x * 8 + threadIdx.x / 32);
  const HoneState all = hone_whole(partial, channel);
  if (threadIdx.x % 32 != 0 || channel >= kChannels) return;
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

struct StatisticsPlan {
  int64_t x = 1, y = kStatisticsThreads;  // threads of a block: channels, and loads of each
  int64_t lanes = 1;                      // elements of one load
  int64_t loads = 1;                      // of a channel
  int64_t blocks = 1, parts = 1;
};

StatisticsPlan statistics_plan(const BatchNormProgram& program) {
  StatisticsPlan plan;
  const auto element = static_cast<int64_t>(dtype_size(program.dtype));
  if (program.channels_last) {
    plan.x =
        static_cast<int64_t>(std::min<uint64_t>(32, std::bit_ceil(static_cast<uint64_t>(program.channels))));
    plan.y = kStatisticsThreads / plan.x;
  } else {
    while (plan.lanes * 2 * element <= 16 && program.positions % (plan.lanes * 2) == 0) plan.lanes *= 2;
  }
  plan.loads = program.batch * program.positions / plan.lanes;
  plan.blocks = (program.channels + plan.x - 1) / plan.x;
  const int64_t wanted = (kWantedStatisticsBlocks + plan.blocks - 1) / plan.blocks;
  plan.parts = std::clamp<int64_t>(std::min(wanted, plan.loads / (plan.y * kLeastLoadsOfThread)), 1,
                                   kMostStatisticsParts);
  return plan;
}

// Where load `e` of a channel begins.
std::string load_place(const BatchNormProgram& program, const StatisticsPlan& plan) {
  if (program.channels_last)
    return fmt::format(
        "HONE_FUNCTION hone_i64 hone_at(hone_i64 e, int channel) {{ return e * {}LL + channel; }}\n",
        program.channels);
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
  kernels.join_blocks = (program.channels + 7) / 8;
  kernels.partial_bytes = static_cast<std::size_t>(plan.parts * fields * program.channels) * 4;
  kernels.coefficients = program.gradient ? 4 : 2;
  kernels.coefficient_bytes = coefficient_row(program) * 4;
  std::string text(kBasePrelude);
  text += fmt::format(
      "typedef {} HoneElement;\ntypedef {} HoneForm;\nconstexpr hone_i64 kLoads = {}, kRow = {};\n"
      "constexpr int kX = {}, kY = {}, kLanes = {}, kParts = {}, kChannels = {}, kFields = {};\n"
      "constexpr bool kGradient = {}, kRelu = {};\nconstexpr float kCount = {}.0f;\nconstexpr float kEpsilon "
      "= {:a}f;\n"
      "constexpr float kMomentum = {:a}f;\n",
      element_memory(program.dtype), element_form(program.dtype), plan.loads, coefficient_row(program),
      plan.x, plan.y, plan.lanes, plan.parts, program.channels, fields, program.gradient, program.relu, count,
      static_cast<double>(program.epsilon), static_cast<double>(program.momentum));
  text += load_place(program, plan);
  text += kStateText;
  text += kStatisticsKernel;
  text += kJoinStatistics;
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
    elements.output(elements.apply(Op::kAdd, scaled, bias), program.dtype);
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
