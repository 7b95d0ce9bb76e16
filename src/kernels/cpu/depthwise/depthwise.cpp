// Depthwise convolution: a strip of neighbouring output pixels is held in registers while the window passes
// over it, so that each input value is loaded once a kernel row and each weight once a strip. One vector is
// 16 (AVX-512), 8 (AVX2) or 1 channels of a pixel.
#include "kernels/cpu/depthwise/depthwise.h"

#include <algorithm>

#include <fmt/format.h>

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

// One output row of one vector of channels.
struct Row {
  const DepthwiseLayer* layer;
  const float* src;  // the vector's channels in the image's first pixel
  float* dst;        // the same in the output row's first pixel
  const float* weights;
  const float* bias;
  int64_t pixel;        // floats from a pixel to the next
  int64_t row;          // output row
  int64_t first, last;  // kernel rows [first, last) that meet the image
  int64_t valid;        // channels of the vector that exist
};

HWY_INLINE VF activate(const PostOp& op, VF x) {
  using Kind = PostOp::Kind;
  const VF zero = hn::Zero(kF32);
  switch (op.kind) {
    case Kind::kRelu:
      return max_nan(x, zero);
    case Kind::kLeakyRelu:
      return hn::IfThenElse(hn::Gt(x, zero), x, hn::Mul(x, splat(op.alpha)));
    case Kind::kClip:
      return min_nan(max_nan(x, splat(op.alpha)), splat(op.beta));
    case Kind::kSigmoid:
      return sigmoid_f32(x);
    case Kind::kSwish:
      return hn::Mul(x, sigmoid_f32(hn::Mul(x, splat(op.alpha))));
    case Kind::kHardSigmoid:
      return min_nan(max_nan(hn::MulAdd(x, splat(op.alpha), splat(op.beta)), zero), splat(1.0F));
    case Kind::kHardSwish:
      return hn::Mul(x, min_nan(max_nan(hn::MulAdd(x, splat(1.0F / 6), splat(0.5F)), zero), splat(1.0F)));
    default:
      return x;
  }
}

HWY_INLINE VF load_pixel(const float* p, int64_t valid, bool whole) {
  return whole ? hn::LoadU(kF32, p) : load_first(p, valid);
}

// Epilogue and store of one pixel. A blocked vector is stored whole, with zeros in the channels that do not
// exist.
HWY_INLINE void finish(const Row& row, VF sum, int64_t column) {
  for (const PostOp& op : row.layer->post_ops) sum = activate(op, sum);
  float* to = row.dst + column * row.pixel;
  if (row.valid == kLanes) {
    hn::StoreU(sum, kF32, to);
  } else if (row.layer->blocked) {
    hn::StoreU(first_lanes(sum, row.valid, hn::Zero(kF32)), kF32, to);
  } else {
    store_first(sum, to, row.valid);
  }
}

HWY_INLINE const float* source_row(const Row& row, int64_t kernel_row) {
  const DepthwiseLayer& layer = *row.layer;
  const int64_t y = row.row * layer.row_stride + kernel_row * layer.row_dilation - layer.top;
  return row.src + y * layer.in_columns * row.pixel;
}

// One pixel of any geometry; taps outside the image are skipped.
HWY_INLINE void any_pixel(const Row& row, int64_t column) {
  const DepthwiseLayer& layer = *row.layer;
  const bool whole = row.valid == kLanes || layer.blocked;
  VF sum = hn::LoadU(kF32, row.bias);
  for (int64_t r = row.first; r < row.last; ++r) {
    const float* from = source_row(row, r);
    for (int64_t k = 0; k < layer.kernel_columns; ++k) {
      const int64_t x = column * layer.column_stride + k * layer.column_dilation - layer.left;
      if (x < 0 || x >= layer.in_columns) continue;
      const VF weight = hn::LoadU(kF32, row.weights + (r * layer.kernel_columns + k) * 16);
      sum = hn::MulAdd(load_pixel(from + x * row.pixel, row.valid, whole), weight, sum);
    }
  }
  finish(row, sum, column);
}

// kPixels output pixels whose windows lie inside the image: columns known when compiled, no dilation along
// them.
template <int kColumns, int kStride, int kPixels>
HWY_INLINE void strip(const Row& row, int64_t column) {
  const DepthwiseLayer& layer = *row.layer;
  constexpr int kSpan = (kPixels - 1) * kStride + kColumns;
  VF sum[kPixels];
  const VF bias = hn::LoadU(kF32, row.bias);
  for (int t = 0; t < kPixels; ++t) sum[t] = bias;
  const int64_t x = column * kStride - layer.left;
  for (int64_t r = row.first; r < row.last; ++r) {
    const float* from = source_row(row, r) + x * row.pixel;
    const float* taps = row.weights + r * kColumns * 16;
    VF weight[kColumns];
    for (int k = 0; k < kColumns; ++k) weight[k] = hn::LoadU(kF32, taps + k * 16);
#pragma GCC unroll 32
    for (int i = 0; i < kSpan; ++i) {
      const VF value = hn::LoadU(kF32, from + i * row.pixel);
#pragma GCC unroll 8
      for (int k = 0; k < kColumns; ++k) {
        const int ahead = i - k;
        if (ahead >= 0 && ahead % kStride == 0 && ahead / kStride < kPixels) {
          sum[ahead / kStride] = hn::MulAdd(value, weight[k], sum[ahead / kStride]);
        }
      }
    }
  }
  for (int t = 0; t < kPixels; ++t) finish(row, sum[t], column + t);
}

// Output columns [begin, end) whose windows lie inside the image.
struct Interior {
  int64_t begin, end;
};

HWY_INLINE Interior interior_of(const DepthwiseLayer& layer) {
  const int64_t reach = (layer.kernel_columns - 1) * layer.column_dilation + 1;
  const int64_t begin = (layer.left + layer.column_stride - 1) / layer.column_stride;
  const int64_t slack = layer.in_columns + layer.left - reach;
  const int64_t end = slack < 0 ? 0 : slack / layer.column_stride + 1;
  const int64_t first = std::min(begin, layer.out_columns);
  return {first, std::clamp(end, first, layer.out_columns)};
}

template <int kColumns, int kStride>
HWY_INLINE void fast_row(const Row& row, const Interior& interior) {
  constexpr int kPixels = kColumns > 3 || kStride > 1 ? 6 : 8;
  for (int64_t column = 0; column < interior.begin; ++column) any_pixel(row, column);
  int64_t column = interior.begin;
  for (; column + kPixels <= interior.end; column += kPixels) strip<kColumns, kStride, kPixels>(row, column);
  for (; column < interior.end; ++column) strip<kColumns, kStride, 1>(row, column);
  for (; column < row.layer->out_columns; ++column) any_pixel(row, column);
}

HWY_INLINE void any_row(const Row& row) {
  const DepthwiseLayer& layer = *row.layer;
  const bool whole = row.valid == kLanes || layer.blocked;
  const Interior interior = interior_of(layer);
  if (layer.column_dilation == 1 && whole) {
    const int64_t kernel = layer.kernel_columns;
    const int64_t stride = layer.column_stride;
    if (kernel == 3 && stride == 1) return fast_row<3, 1>(row, interior);
    if (kernel == 3 && stride == 2) return fast_row<3, 2>(row, interior);
    if (kernel == 5 && stride == 1) return fast_row<5, 1>(row, interior);
    if (kernel == 5 && stride == 2) return fast_row<5, 2>(row, interior);
    if (kernel == 7 && stride == 1) return fast_row<7, 1>(row, interior);
  }
  for (int64_t column = 0; column < layer.out_columns; ++column) any_pixel(row, column);
}

// One output row of 16 channels from `block` on, `item` counting rows of all images.
void block_row(const DepthwiseLayer& layer, const float* src, float* dst, int64_t image, int64_t block,
               int64_t out_row) {
  const int64_t blocks = (layer.channels + 15) / 16;
  const int64_t in_pixels = layer.in_rows * layer.in_columns;
  const int64_t out_pixels = layer.out_rows * layer.out_columns;
  const int64_t taps = layer.kernel_rows * layer.kernel_columns;
  Row row;
  row.layer = &layer;
  row.row = out_row;
  row.pixel = layer.blocked ? 16 : layer.channels;
  const int64_t y = out_row * layer.row_stride - layer.top;
  row.first = y >= 0 ? 0 : (-y + layer.row_dilation - 1) / layer.row_dilation;
  row.last = std::min(layer.kernel_rows, (layer.in_rows - y + layer.row_dilation - 1) / layer.row_dilation);
  for (int64_t lane = 0; lane < 16; lane += kLanes) {
    const int64_t channel = block * 16 + lane;
    row.valid = std::clamp<int64_t>(layer.channels - channel, 0, kLanes);
    if (row.valid == 0 && !layer.blocked) return;
    const int64_t in_start = layer.blocked ? (image * blocks + block) * in_pixels * 16 + lane
                                           : image * in_pixels * layer.channels + channel;
    const int64_t out_start = layer.blocked ? (image * blocks + block) * out_pixels * 16 + lane
                                            : image * out_pixels * layer.channels + channel;
    row.src = src + in_start;
    row.dst = dst + out_start + out_row * layer.out_columns * row.pixel;
    row.weights = layer.weights + block * taps * 16 + lane;
    row.bias = layer.bias + block * 16 + lane;
    any_row(row);
  }
}

// Blocked tensors keep a channel block's image together, so its rows are walked before the next block;
// channels_last keeps a row's channels together.
void DepthwiseRows(const DepthwiseLayer& layer, const float* src, float* dst, int64_t begin, int64_t end) {
  const int64_t blocks = (layer.channels + 15) / 16;
  for (int64_t item = begin; item < end; ++item) {
    if (layer.blocked) {
      const int64_t plane = item / layer.out_rows;
      block_row(layer, src, dst, plane / blocks, plane % blocks, item % layer.out_rows);
    } else {
      const int64_t line = item / blocks;
      block_row(layer, src, dst, line / layer.out_rows, item % blocks, line % layer.out_rows);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(DepthwiseRows);

// The last of `extents` as columns, the one before it as rows; `value` where there is none.
struct RowsAndColumns {
  int64_t rows, columns;
};

RowsAndColumns split(const Shape& extents, int64_t value) {
  if (extents.empty()) return {value, value};
  return {extents.size() > 1 ? extents[0] : value, extents.back()};
}

bool is_supported_activation(PostOp::Kind kind) {
  using Kind = PostOp::Kind;
  constexpr Kind kKinds[] = {Kind::kRelu,  Kind::kLeakyRelu,   Kind::kClip,     Kind::kSigmoid,
                             Kind::kSwish, Kind::kHardSigmoid, Kind::kHardSwish};
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

}  // namespace

Status DepthwiseConvolution::supports(const ConvolutionDesc& desc) {
  const auto refuse = [&](const char* reason) {
    return unsupported(fmt::format("{}: {} {}", describe(desc), kName, reason));
  };
  if (desc.dtype != DType::kF32) return refuse("takes f32 only");
  if (desc.transposed || desc.groups != desc.in_channels || desc.groups != desc.out_channels) {
    return refuse("takes one input channel an output channel");
  }
  if (desc.input.size() > 2) return refuse("takes one or two spatial axes");
  if (desc.src_layout != desc.dst_layout ||
      (desc.src_layout != Layout::kBlocked16 && desc.src_layout != Layout::kChannelsLast)) {
    return refuse("takes blocked16 and channels_last");
  }
  const bool activations = std::all_of(desc.post_ops.begin(), desc.post_ops.end(),
                                       [](const PostOp& op) { return is_supported_activation(op.kind); });
  if (!activations) return refuse("fuses none of these post-ops");
  return {};
}

Result<std::unique_ptr<DepthwiseConvolution>> DepthwiseConvolution::create(const ConvolutionDesc& desc,
                                                                           const void* weights,
                                                                           const void* bias) {
  HONE_CHECK(supports(desc));
  std::unique_ptr<DepthwiseConvolution> made(new DepthwiseConvolution());
  const int64_t taps = element_count(desc.kernel);
  const int64_t padded = (desc.in_channels + 15) / 16 * 16;
  made->weights_ = Tensor::zeros(DType::kF32, {padded * taps});
  made->bias_ = Tensor::zeros(DType::kF32, {padded});
  float* packed = made->weights_.as<float>().data();
  for (int64_t channel = 0; channel < desc.in_channels; ++channel) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      packed[(channel / 16 * taps + tap) * 16 + channel % 16] =
          static_cast<const float*>(weights)[channel * taps + tap];
    }
    if (desc.has_bias)
      made->bias_.as<float>()[static_cast<std::size_t>(channel)] = static_cast<const float*>(bias)[channel];
  }
  DepthwiseLayer& layer = made->layer_;
  layer.batch = desc.batch;
  layer.channels = desc.in_channels;
  const auto set = [](const Shape& extents, int64_t value, int64_t& rows, int64_t& columns) {
    const RowsAndColumns both = split(extents, value);
    rows = both.rows;
    columns = both.columns;
  };
  set(desc.input, 1, layer.in_rows, layer.in_columns);
  set(desc.output(), 1, layer.out_rows, layer.out_columns);
  set(desc.kernel, 1, layer.kernel_rows, layer.kernel_columns);
  set(desc.strides, 1, layer.row_stride, layer.column_stride);
  set(desc.dilations, 1, layer.row_dilation, layer.column_dilation);
  set(desc.pads_begin, 0, layer.top, layer.left);
  layer.blocked = desc.src_layout == Layout::kBlocked16;
  layer.weights = packed;
  layer.bias = made->bias_.as<float>().data();
  layer.post_ops = desc.post_ops;
  return made;
}

void DepthwiseConvolution::execute(const float* src, float* dst) const noexcept {
  const auto rows = HWY_DYNAMIC_DISPATCH(DepthwiseRows);
  const int64_t blocks = (layer_.channels + 15) / 16;
  const int64_t items = layer_.batch * blocks * layer_.out_rows;
  // A thread is worth waking for some ten thousand multiply-adds.
  const int64_t work = layer_.out_columns * layer_.kernel_rows * layer_.kernel_columns;
  parallel_for(items, std::max<int64_t>(1, 2000 / work),
               [&](int64_t begin, int64_t end, int) { rows(layer_, src, dst, begin, end); });
}

}  // namespace hone::kernels
#endif
