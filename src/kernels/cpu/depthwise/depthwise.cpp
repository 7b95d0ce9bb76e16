// One vector is 16 (AVX-512), 8 (AVX2) or 1 channels of a pixel. A strip of output pixels is held in
// registers while the window's rows pass: each input value is loaded once a row for all the pixels that it
// reaches. Every loop over the strip must unroll, or the compiler keeps the strip in memory and stores it
// after each multiply-add.
#include "kernels/cpu/depthwise/depthwise.h"

#include <algorithm>

#include <fmt/core.h>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/depthwise/depthwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

inline constexpr int64_t kPixel = 16;  // floats from a pixel to the next

// What lies outside the image.
alignas(64) constexpr float kZeros[kPixel] = {};

// One output row of one vector of channels.
struct Row {
  const float* src;       // image row under the first kernel row that meets the image, column 0
  const float* residual;  // null or like dst
  float* dst;
  const float* weights;  // of the first kernel row that meets the image
  int64_t kernel_rows;   // that meet the image
  int64_t in_row;        // floats from an image row to the next
  int64_t in_columns;
  int64_t left;
  const float* bias;
  float low, high;
};

// kPixels output pixels from `column` on. Only the first and the last kKernel - 1 columns of the strip can
// lie outside the image, as the padding is narrower than the window. kKernelRows: 0 if known at run time
// only.
template <int kKernel, int kStride, int kPixels, int kKernelRows>
HWY_INLINE void strip(const Row& row, int64_t column) {
  constexpr int kSpan = (kPixels - 1) * kStride + kKernel;
  const int64_t x = column * kStride - row.left;
  VF sum[kPixels];
  const VF bias = hn::LoadU(kF32, row.bias);
#pragma GCC unroll 32
  for (int t = 0; t < kPixels; ++t) sum[t] = bias;
  const float* from = row.src + x * kPixel;
  const float* taps = row.weights;
  const int64_t kernel_rows = kKernelRows != 0 ? kKernelRows : row.kernel_rows;
#pragma GCC unroll 3
  for (int64_t r = 0; r < kernel_rows; ++r, from += row.in_row, taps += kKernel * kPixel) {
    VF weight[kKernel];
#pragma GCC unroll 32
    for (int k = 0; k < kKernel; ++k) weight[k] = hn::LoadU(kF32, taps + k * kPixel);
#pragma GCC unroll 64
    for (int i = 0; i < kSpan; ++i) {
      const float* at = from + i * kPixel;
      if (i < kKernel - 1 || i > kSpan - kKernel) at = x + i >= 0 && x + i < row.in_columns ? at : kZeros;
      const VF value = hn::LoadU(kF32, at);
#pragma GCC unroll 32
      for (int k = 0; k < kKernel; ++k) {
        const int ahead = i - k;
        if (ahead >= 0 && ahead % kStride == 0 && ahead / kStride < kPixels)
          sum[ahead / kStride] = hn::MulAdd(value, weight[k], sum[ahead / kStride]);
      }
    }
  }
  const VF low = splat(row.low);
  const VF high = splat(row.high);
  float* to = row.dst + column * kPixel;
  if (row.residual != nullptr) {
#pragma GCC unroll 32
    for (int t = 0; t < kPixels; ++t)
      sum[t] = hn::Add(sum[t], hn::LoadU(kF32, row.residual + (column + t) * kPixel));
  }
#pragma GCC unroll 32
  for (int t = 0; t < kPixels; ++t)
    hn::StoreU(min_second(high, max_second(low, sum[t])), kF32, to + t * kPixel);
}

// 14 and 7 are what the usual sides, 7 to 112, divide by.
template <int kKernel, int kStride, int kKernelRows>
HWY_INLINE void whole_row(const Row& row, int64_t columns) {
  int64_t column = 0;
#if HWY_TARGET == HWY_AVX3
  for (; column + 14 <= columns; column += 14) strip<kKernel, kStride, 14, kKernelRows>(row, column);
#endif
#if HWY_TARGET != HWY_SCALAR
  for (; column + 7 <= columns; column += 7) strip<kKernel, kStride, 7, kKernelRows>(row, column);
#endif
  for (; column + 3 <= columns; column += 3) strip<kKernel, kStride, 3, kKernelRows>(row, column);
  for (; column < columns; ++column) strip<kKernel, kStride, 1, kKernelRows>(row, column);
}

// Output rows [begin, end) counted through all planes.
template <int kKernel, int kStride>
void all_rows(const DepthwiseLayer& layer, const float* src, const float* residual, float* dst, int64_t begin,
              int64_t end) {
  Row row;
  row.in_columns = layer.in_columns;
  row.left = layer.left;
  row.in_row = layer.in_columns * kPixel;
  row.low = layer.low;
  row.high = layer.high;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t plane = item / layer.out_rows;
    const int64_t block = plane % layer.blocks;
    const int64_t y = item % layer.out_rows * kStride - layer.top;
    const int64_t first = std::clamp<int64_t>(-y, 0, kKernel);
    row.kernel_rows = std::max<int64_t>(0, std::min<int64_t>(kKernel, layer.in_rows - y) - first);
    for (int64_t lane = 0; lane < kPixel; lane += kLanes) {
      row.src = src + (plane * layer.in_rows + y + first) * row.in_row + lane;
      const int64_t to = item * layer.out_columns * kPixel + lane;
      row.residual = residual != nullptr ? residual + to : nullptr;
      row.dst = dst + to;
      row.weights = layer.weights + (block * kKernel + first) * kKernel * kPixel + lane;
      row.bias = layer.bias + block * kPixel + lane;
      if (kKernel == 3 && row.kernel_rows == 3) {
        whole_row<kKernel, kStride, 3>(row, layer.out_columns);
      } else {
        whole_row<kKernel, kStride, 0>(row, layer.out_columns);
      }
    }
  }
}

void DepthwiseRows(const DepthwiseLayer& layer, const float* src, const float* residual, float* dst,
                   int64_t begin, int64_t end) {
  if (layer.kernel == 3) {
    return layer.stride == 1 ? all_rows<3, 1>(layer, src, residual, dst, begin, end)
                             : all_rows<3, 2>(layer, src, residual, dst, begin, end);
  }
  return layer.stride == 1 ? all_rows<5, 1>(layer, src, residual, dst, begin, end)
                           : all_rows<5, 2>(layer, src, residual, dst, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(DepthwiseRows);

}  // namespace

Status DepthwiseConvolution::supports(const ConvolutionDesc& desc) {
  const auto refuse = [&](std::string_view reason) {
    return unsupported(fmt::format("{}: {} {}", describe(desc), kName, reason));
  };
  if (desc.dtype != DType::kF32) return refuse("takes f32 only");
  if (desc.transposed || desc.groups != desc.in_channels || desc.groups != desc.out_channels)
    return refuse("takes one input channel an output channel");
  if (desc.input.size() != 2) return refuse("takes two spatial axes");
  if (!all_are(desc.kernel, 3) && !all_are(desc.kernel, 5)) return refuse("takes 3x3 and 5x5 kernels");
  if (!all_are(desc.strides, 1) && !all_are(desc.strides, 2)) return refuse("takes strides 1 and 2");
  if (!all_are(desc.dilations, 1)) return refuse("takes no dilation");
  const auto narrow = [&](const Shape& pads) {
    return pads.empty() || (pads[0] < desc.kernel[0] && pads[1] < desc.kernel[1]);
  };
  if (!narrow(desc.pads_begin) || !narrow(desc.pads_end))
    return refuse("takes padding narrower than the kernel");
  if (desc.src_layout != Layout::kBlocked16 || desc.dst_layout != Layout::kBlocked16)
    return refuse("takes blocked16");
  const auto epilogue = fuse_epilogue(desc.post_ops, desc.dst_shape(), Layout::kBlocked16);
  if (!epilogue) return refuse("fuses none of these post-ops");
  if (desc.out_channels % kBlockedChannels != 0 && !epilogue->keeps_zero())
    return refuse("cannot keep the channel padding zero");
  return {};
}

Result<std::unique_ptr<DepthwiseConvolution>> DepthwiseConvolution::create(const ConvolutionDesc& desc,
                                                                           const void* weights,
                                                                           const void* bias) {
  HONE_CHECK(supports(desc));
  std::unique_ptr<DepthwiseConvolution> made(new DepthwiseConvolution());
  made->epilogue_ = *fuse_epilogue(desc.post_ops, desc.dst_shape(), Layout::kBlocked16);
  DepthwiseLayer& layer = made->layer_;
  const Shape out = desc.output();
  layer.blocks = (desc.in_channels + kBlockedChannels - 1) / kBlockedChannels;
  layer.planes = desc.batch * layer.blocks;
  layer.in_rows = desc.input[0];
  layer.in_columns = desc.input[1];
  layer.out_rows = out[0];
  layer.out_columns = out[1];
  layer.kernel = desc.kernel[0];
  layer.stride = desc.strides.empty() ? 1 : desc.strides[0];
  if (!desc.pads_begin.empty()) {
    layer.top = desc.pads_begin[0];
    layer.left = desc.pads_begin[1];
  }
  layer.low = made->epilogue_.low;
  layer.high = made->epilogue_.high;
  const int64_t taps = element_count(desc.kernel);
  made->weights_ = Tensor::zeros(DType::kF32, {layer.blocks, taps, kBlockedChannels});
  made->bias_ = Tensor::zeros(DType::kF32, {layer.blocks * kBlockedChannels});
  float* packed = made->weights_.as<float>().data();
  for (int64_t channel = 0; channel < desc.in_channels; ++channel) {
    const int64_t block = channel / kBlockedChannels;
    for (int64_t tap = 0; tap < taps; ++tap) {
      packed[(block * taps + tap) * kBlockedChannels + channel % kBlockedChannels] =
          static_cast<const float*>(weights)[channel * taps + tap];
    }
  }
  if (desc.has_bias)
    std::copy_n(static_cast<const float*>(bias), desc.in_channels, made->bias_.as<float>().data());
  layer.weights = packed;
  layer.bias = made->bias_.as<float>().data();
  return made;
}

void DepthwiseConvolution::execute(const float* src, const float* residual, float* dst) const noexcept {
  const auto rows = HWY_DYNAMIC_DISPATCH(DepthwiseRows);
  // A thread is worth waking for some five thousand vector multiply-adds.
  const int64_t work = layer_.out_columns * layer_.kernel * layer_.kernel;
  parallel_for(layer_.planes * layer_.out_rows, std::max<int64_t>(1, 5'000 / std::max<int64_t>(1, work)),
               [&](int64_t begin, int64_t end, int) {
                 rows(layer_, src, epilogue_.residual ? residual : nullptr, dst, begin, end);
                 const int64_t row = layer_.out_columns * kBlockedChannels;
                 if (epilogue_.activations.empty()) return;
                 for (int64_t item = begin; item < end; ++item) {  // each is of one block
                   const int64_t block = item / layer_.out_rows % layer_.blocks;
                   activate(epilogue_.activations, dst + item * row, row, block * kBlockedChannels);
                 }
               });
}

}  // namespace hone::kernels
#endif
