#include "cuda/cudnn_convolution.h"

#include <algorithm>

namespace hone::cuda {
namespace {

using enum CudnnAttribute;

// Tensors of the graph, by which a run gives their addresses; virtual ones count from kFirstVirtual.
constexpr int64_t kX = 1, kW = 2, kY = 3, kAdded = 4, kBias = 5, kFirstVirtual = 16;

// The library's images have two spatial axes at least: a line is one row of an image.
constexpr std::size_t kLeastSpatialAxes = 2;
Shape with_rows(const Shape& shape, std::size_t spatial_at, int64_t extent) {
  Shape rows = shape;
  while (rows.size() < spatial_at + kLeastSpatialAxes)
    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(spatial_at), extent);
  return rows;
}

// Elements from one to the next along each axis.
std::vector<int64_t> strides_of(const Shape& shape, bool channels_last) {
  std::vector<int64_t> strides(shape.size());
  int64_t next = 1;
  const auto place = [&](std::size_t axis) {
    strides[axis] = next;
    next *= shape[axis];
  };
  if (channels_last) place(1);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (axis != 1 || !channels_last) place(axis);
  }
  return strides;
}

}  // namespace

Result<std::shared_ptr<const Convolution>> Convolution::make(std::shared_ptr<const Cudnn> library,
                                                             const ConvolutionDesc& desc) {
  HONE_CHECK(library->make_current());
  std::shared_ptr<Convolution> convolution(new Convolution(std::move(library), desc));
  HONE_CHECK(convolution->build());
  return std::shared_ptr<const Convolution>(std::move(convolution));
}

// --- the graph of operations ---

// What operations give each other is f32 and has no memory; the last one's result is y.
Status Convolution::build() {
  const int following = (desc_.added ? 1 : 0) + (desc_.bias ? 1 : 0) + (desc_.activation.mode ? 1 : 0);
  int made = 0;
  const auto next_value = [&]() -> Result<CudnnDescriptorHandle> {
    const bool last = made++ == following;  // of a weight gradient y is read, from memory as well
    return last ? add_image(kY, desc_.dtype, desc_.y, Kept::kMemory)
                : add_image(kFirstVirtual + made, DType::kF32, desc_.y, Kept::kVirtual);
  };
  HONE_ASSIGN(x_, add_image(kX, desc_.dtype, desc_.x, Kept::kMemory));
  HONE_ASSIGN(w_, add_image(kW, desc_.dtype, desc_.w, Kept::kMemory));
  HONE_ASSIGN(CudnnDescriptorHandle value, next_value());
  HONE_CHECK(add_convolution(value));
  const auto follow = [&](const ConvolutionActivation& what, CudnnDescriptorHandle operand) -> Status {
    const CudnnDescriptorHandle given = value;
    HONE_ASSIGN(value, next_value());
    return add_pointwise(what, given, operand, value);
  };
  const ConvolutionActivation addition{.mode = CudnnPointwise::kAdd};
  if (desc_.added) {
    HONE_ASSIGN(const CudnnDescriptorHandle added, add_image(kAdded, desc_.dtype, desc_.y, Kept::kMemory));
    HONE_CHECK(follow(addition, added));
  }
  if (desc_.bias) {
    Shape channels(desc_.y.size(), 1);
    channels[1] = desc_.y[1];
    HONE_ASSIGN(const CudnnDescriptorHandle bias, add_image(kBias, desc_.dtype, channels, Kept::kMemory));
    HONE_CHECK(follow(addition, bias));
  }
  if (desc_.activation.mode) HONE_CHECK(follow(desc_.activation, nullptr));
  return finish();
}

Result<CudnnDescriptorHandle> Convolution::add_image(int64_t uid, DType dtype, const Shape& shape,
                                                     Kept kept) {
  const Shape extents = with_rows(shape, 2, 1);
  return add_tensor(uid, dtype, extents, strides_of(extents, desc_.channels_last), kept);
}

Status Convolution::add_convolution(CudnnDescriptorHandle y) {
  HONE_ASSIGN(CudnnObject window, new_object(CudnnDescriptor::kConvolution));
  const auto set = [&](CudnnAttribute attribute, const Shape& numbers, int64_t of_one_row) {
    const Shape all = with_rows(numbers, 0, of_one_row);
    return window.set(attribute, std::span<const int64_t>(all));
  };
  HONE_CHECK(window.set(kConvolutionComputeType, CudnnDataType::kF32));
  HONE_CHECK(window.set(kConvolutionMode, CudnnConvolutionMode::kCrossCorrelation));
  HONE_CHECK(window.set(kConvolutionSpatialAxes,
                        static_cast<int64_t>(std::max(desc_.strides.size(), kLeastSpatialAxes))));
  HONE_CHECK(set(kConvolutionDilations, desc_.dilations, 1));
  HONE_CHECK(set(kConvolutionStrides, desc_.strides, 1));
  HONE_CHECK(set(kConvolutionPrePads, desc_.pads_begin, 0));
  HONE_CHECK(set(kConvolutionPostPads, desc_.pads_end, 0));
  HONE_CHECK(window.finalise());

  struct Names {
    CudnnDescriptor kind;
    CudnnAttribute window, w, x, y, alpha, beta;
  };
  const Names names = desc_.weight_gradient ? Names{CudnnDescriptor::kConvolutionBackwardFilter,
                                                    kBackwardFilterConvolution,
                                                    kBackwardFilterDw,
                                                    kBackwardFilterX,
                                                    kBackwardFilterDy,
                                                    kBackwardFilterAlpha,
                                                    kBackwardFilterBeta}
                      : desc_.transposed    ? Names{CudnnDescriptor::kConvolutionBackwardData,
                                                 kBackwardDataConvolution,
                                                 kBackwardDataW,
                                                 kBackwardDataDy,
                                                 kBackwardDataDx,
                                                 kBackwardDataAlpha,
                                                 kBackwardDataBeta}
                                            : Names{CudnnDescriptor::kConvolutionForward,
                                                 kForwardConvolution,
                                                 kForwardW,
                                                 kForwardX,
                                                 kForwardY,
                                                 kForwardAlpha,
                                                 kForwardBeta};
  HONE_ASSIGN(CudnnObject operation, new_object(names.kind));
  HONE_CHECK(operation.set(names.window, window));
  HONE_CHECK(give(operation, names.w, w_));
  HONE_CHECK(give(operation, names.x, x_));
  HONE_CHECK(give(operation, names.y, y));
  HONE_CHECK(operation.set(names.alpha, 1.0F));
  HONE_CHECK(operation.set(names.beta, 0.0F));
  keep(std::move(window));
  return add_operation(std::move(operation));
}

Status Convolution::add_pointwise(const ConvolutionActivation& what, CudnnDescriptorHandle x,
                                  CudnnDescriptorHandle b, CudnnDescriptorHandle y) {
  HONE_ASSIGN(CudnnObject function, new_object(CudnnDescriptor::kPointwise));
  HONE_CHECK(function.set(kPointwiseMode, *what.mode));
  HONE_CHECK(function.set(kPointwiseMathPrecision, CudnnDataType::kF32));
  switch (*what.mode) {
    case CudnnPointwise::kRelu:
      HONE_CHECK(function.set(kReluLowerClip, what.low));
      if (what.has_high) HONE_CHECK(function.set(kReluUpperClip, what.high));
      if (what.slope != 0) HONE_CHECK(function.set(kReluLowerSlope, what.slope));
      break;
    case CudnnPointwise::kElu:
      HONE_CHECK(function.set(kEluAlpha, what.alpha));
      break;
    case CudnnPointwise::kSwish:
      HONE_CHECK(function.set(kSwishBeta, what.alpha));
      break;
    case CudnnPointwise::kSoftplus:
      HONE_CHECK(function.set(kSoftplusBeta, what.alpha));
      break;
    default:
      break;
  }
  HONE_CHECK(function.finalise());
  HONE_ASSIGN(CudnnObject operation, new_object(CudnnDescriptor::kPointwiseOperation));
  HONE_CHECK(operation.set(kPointwiseDescriptor, function));
  HONE_CHECK(give(operation, kPointwiseX, x));
  if (b != nullptr) HONE_CHECK(give(operation, kPointwiseB, b));
  HONE_CHECK(give(operation, kPointwiseY, y));
  keep(std::move(function));
  return add_operation(std::move(operation));
}

std::vector<CudnnOperand> Convolution::operands(const ConvolutionOperands& addresses) const {
  std::vector<CudnnOperand> all = {{kX, addresses.x}, {kW, addresses.w}, {kY, addresses.y}};
  if (desc_.added) all.push_back({kAdded, addresses.added});
  if (desc_.bias) all.push_back({kBias, addresses.bias});
  return all;
}

}  // namespace hone::cuda
