#include "kernels/cuda/depthwise.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kMostTaps = 7;                // along one axis: all are unrolled
constexpr int64_t kMostStrip = 4;               // neighbouring results of a thread
constexpr int64_t kFewThreads = 32 * 1024;      // a GPU wants more, which narrower loads give
constexpr int64_t kPlentyThreads = 128 * 1024;  // enough to give each more than one result
constexpr int64_t kMostImage = int64_t{1} << 31;

// Taps outside of the image are zeros. What a strip reads of a row is read once for all of its results.
constexpr std::string_view kDepthwiseText = R"cuda(
typedef HoneVector<Element, kLanes> Wide;
extern "C" __global__ void __launch_bounds__(128, 1) hone_depthwise(HONE_PARAMETERS) {
  hone_i64 e = (hone_i64)blockIdx.x * 128 + threadIdx.x;
  if (e >= kAll) return;
  HONE_PLACE
  const Element* const image = x + n * ((hone_i64)kRows * kColumns * kChannels) + (hone_i64)c * kChannelStep;
  float sums[kStrip][kLanes] = {};
  const int left = first * kStrideX - kPadX, top = row * kStrideY - kPadY;
#pragma unroll
  for (int i = 0; i < kTapsY; ++i) {
    const int y_at = top + i * kDilationY;
    if (y_at < 0 || y_at >= kRows) continue;
    Wide weights[kTapsX];
#pragma unroll
    for (int j = 0; j < kTapsX; ++j)
      weights[j] = *(const Wide*)(w + (hone_i64)c * kWeightChannelStep + (i * kTapsX + j) * kWeightTapStep);
#pragma unroll
    for (int at = 0; at < kSpan; ++at) {
      const int x_at = left + at;
      if (x_at < 0 || x_at >= kColumns) continue;
      bool read = false;  // known when it is compiled
#pragma unroll
      for (int s = 0; s < kStrip; ++s)
        read = read || (at >= s * kStrideX && (at - s * kStrideX) % kDilationX == 0 && (at - s * kStrideX) / kDilationX < kTapsX);
      if (!read) continue;
      const Wide v = *(const Wide*)(image + ((hone_i64)y_at * kColumns + x_at) * kPixelStep);
#pragma unroll
      for (int s = 0; s < kStrip; ++s) {
        const int from = at - s * kStrideX;
        if (from < 0 || from % kDilationX != 0 || from / kDilationX >= kTapsX) continue;
#pragma unroll
        for (int l = 0; l < kLanes; ++l)
          sums[s][l] = fma(Form::held(v.at[l]), Form::held(weights[from / kDilationX].at[l]), sums[s][l]);
      }
    }
  }
#pragma unroll
  for (int s = 0; s < kStrip; ++s) {
    if (first + s >= kOutColumns) continue;
    const hone_i64 to = n * ((hone_i64)kOutRows * kOutColumns * kChannels) + (hone_i64)c * kOutChannelStep +
                        ((hone_i64)row * kOutColumns + first + s) * kPixelStep;
    Wide result;
#pragma unroll
    for (int l = 0; l < kLanes; ++l) {
      float v = sums[s][l];
      HONE_BEHIND
      result.at[l] = Form::stored(v);
    }
    *(Wide*)(y + to) = result;
  }
}
)cuda";

std::string activation_text(const cuda::ConvolutionActivation& activation) {
  using cuda::CudnnPointwise;
  if (!activation.mode) return {};
  switch (*activation.mode) {
    case CudnnPointwise::kRelu: {
      const std::string below = activation.slope == 0
                                    ? std::string()
                                    : fmt::format(" + {:a}f * (v - {:a}f)", activation.slope, activation.low);
      const std::string low = fmt::format("v = v < {0:a}f ? {0:a}f{1} : v; ", activation.low, below);
      return activation.has_high ? low + fmt::format("v = v > {0:a}f ? {0:a}f : v; ", activation.high) : low;
    }
    case CudnnPointwise::kSigmoid:
      return "v = hone_sigmoid(v); ";
    case CudnnPointwise::kTanh:
      return "v = hone_tanh(v); ";
    case CudnnPointwise::kElu:
      return fmt::format("v = hone_elu(v, {:a}f, 0.0f); ", activation.alpha);
    case CudnnPointwise::kSoftplus:
      return "v = hone_softplus(v); ";
    case CudnnPointwise::kSwish:
      return fmt::format("v = hone_swish(v, {:a}f, 0.0f); ", activation.alpha);
    case CudnnPointwise::kGeluErf:
      return "v = hone_gelu_erf(v); ";
    case CudnnPointwise::kGeluTanh:
      return "v = hone_gelu_tanh(v); ";
    default:
      return {};
  }
}

bool is_depthwise(const cuda::ConvolutionDesc& desc) {
  return !desc.transposed && desc.x.size() == 4 && desc.w[1] == 1 && desc.x[1] == desc.w[0] &&
         desc.y[1] == desc.w[0] && desc.x[1] > 1 && desc.w[2] <= kMostTaps && desc.w[3] <= kMostTaps;
}

struct DepthwisePlan {
  int64_t lanes = 1, strip = 1, threads = 0;
};

int64_t depthwise_threads(const cuda::ConvolutionDesc& desc, int64_t lanes, int64_t strip) {
  return desc.y[0] * (desc.y[1] / lanes) * desc.y[2] * ((desc.y[3] + strip - 1) / strip);
}

DepthwisePlan depthwise_plan(const cuda::ConvolutionDesc& desc) {
  DepthwisePlan plan;
  const auto element = static_cast<int64_t>(dtype_size(desc.dtype));
  while (desc.channels_last && plan.lanes * 2 * element <= 16 && desc.y[1] % (plan.lanes * 2) == 0 &&
         (plan.lanes * element < 4 || depthwise_threads(desc, plan.lanes * 2, 1) >= kFewThreads))
    plan.lanes *= 2;
  while (plan.strip < kMostStrip && plan.strip * 2 <= desc.y[3] &&
         depthwise_threads(desc, plan.lanes, plan.strip * 2) >= kPlentyThreads)
    plan.strip *= 2;
  plan.threads = depthwise_threads(desc, plan.lanes, plan.strip);
  return plan;
}

// Which channels, row and columns thread `e` has: neighbours in memory are neighbouring threads.
std::string depthwise_place(const cuda::ConvolutionDesc& desc, const DepthwisePlan& plan) {
  const std::string channel =
      fmt::format("const int c = (int)(e % {0}) * kLanes; e /= {0}; ", desc.y[1] / plan.lanes);
  const std::string column = fmt::format("const int first = (int)(e % {0}) * kStrip; e /= {0}; ",
                                         (desc.y[3] + plan.strip - 1) / plan.strip);
  const std::string row = "const int row = (int)(e % kOutRows); e /= kOutRows; ";
  return (desc.channels_last ? channel + column + row : column + row + channel) + "const hone_i64 n = e;";
}

std::string behind_text(const cuda::ConvolutionDesc& desc) {
  std::string text;
  if (desc.bias) text += "v += Form::held(bias[c + l]); ";
  if (desc.added) text += "v += Form::held(added[to + l]); ";
  return text + activation_text(desc.activation);
}

std::string constants_text(const cuda::ConvolutionDesc& desc, const DepthwisePlan& plan) {
  const bool last = desc.channels_last;
  const int64_t rows = desc.x[2], columns = desc.x[3], out_rows = desc.y[2], out_columns = desc.y[3];
  std::string text = fmt::format(
      "constexpr hone_i64 kAll = {};\n"
      "constexpr int kLanes = {}, kStrip = {}, kChannels = {}, kRows = {}, kColumns = {}, kOutRows = {}, "
      "kOutColumns = {};\n",
      plan.threads, plan.lanes, plan.strip, desc.x[1], rows, columns, out_rows, out_columns);
  text += fmt::format(
      "constexpr int kTapsY = {}, kTapsX = {}, kStrideY = {}, kStrideX = {}, kDilationY = {}, kDilationX = "
      "{}, "
      "kPadY = {}, kPadX = {}, kSpan = {};\n",
      desc.w[2], desc.w[3], desc.strides[0], desc.strides[1], desc.dilations[0], desc.dilations[1],
      desc.pads_begin[0], desc.pads_begin[1],
      (plan.strip - 1) * desc.strides[1] + (desc.w[3] - 1) * desc.dilations[1] + 1);
  text += fmt::format(
      "constexpr int kPixelStep = {}, kWeightTapStep = {}, kWeightChannelStep = {};\n"
      "constexpr hone_i64 kChannelStep = {}, kOutChannelStep = {};\n",
      last ? desc.x[1] : 1, last ? desc.x[1] : 1, last ? 1 : desc.w[2] * desc.w[3], last ? 1 : rows * columns,
      last ? 1 : out_rows * out_columns);
  return text;
}

}  // namespace

Result<DepthwiseKernel> generate_depthwise(const cuda::ConvolutionDesc& desc) {
  const bool half = desc.dtype == DType::kF16 || desc.dtype == DType::kBF16;
  if (!half && desc.dtype != DType::kF32)
    return unsupported(fmt::format("depthwise convolutions of {}", dtype_name(desc.dtype)));
  if (!is_depthwise(desc)) return unsupported("convolutions of more than each channel alone");
  if (desc.x[1] * desc.x[2] * desc.x[3] >= kMostImage || desc.y[2] * desc.y[3] >= kMostImage)
    return unsupported("depthwise convolutions of images as large");
  const std::string behind = behind_text(desc);
  if (desc.activation.mode && activation_text(desc.activation).empty())
    return unsupported("such a function behind a depthwise convolution");
  const DepthwisePlan plan = depthwise_plan(desc);
  DepthwiseKernel kernel;
  kernel.blocks = (plan.threads + kDepthwiseBlock - 1) / kDepthwiseBlock;
  kernel.lanes = plan.lanes;
  kernel.strip = plan.strip;
  std::string text = full_prelude();
  text += fmt::format("typedef {} Element;\ntypedef {} Form;\n", half ? "unsigned short" : "float",
                      !half                       ? "HoneIdentity<float>"
                      : desc.dtype == DType::kF16 ? "HoneF16"
                                                  : "HoneBf16");
  text += constants_text(desc, plan);
  text += fmt::format("#define HONE_PARAMETERS const Element* x, const Element* w, {}{}Element* y\n",
                      desc.bias ? "const Element* bias, " : "", desc.added ? "const Element* added, " : "");
  text += fmt::format("#define HONE_PLACE {}\n#define HONE_BEHIND {}\n", depthwise_place(desc, plan), behind);
  text += kDepthwiseText;
  kernel.source = {.name = "depthwise.cu", .text = std::move(text), .options = {}};
  return kernel;
}

Tensor depthwise_weights(const cuda::ConvolutionDesc& desc, const Tensor& weights) {
  if (!desc.channels_last) return weights;
  const int64_t channels = desc.w[0], taps = desc.w[2] * desc.w[3];
  const std::size_t size = dtype_size(weights.dtype());
  Tensor packed(weights.dtype(), {taps, channels});
  const auto* const from = static_cast<const std::byte*>(weights.data());
  auto* to = static_cast<std::byte*>(packed.data());
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t c = 0; c < channels; ++c, to += size)
      std::memcpy(to, from + static_cast<std::size_t>(c * taps + tap) * size, size);
  }
  return packed;
}

}  // namespace hone::kernels::gpu
