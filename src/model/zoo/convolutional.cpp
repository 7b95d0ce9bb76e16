#include "model/zoo/convolutional.h"

namespace hone::model::zoo {

int64_t channels_of(const Module& at, ValueId x) { return at.type(x).dims->at(1).extent(); }

ValueId convolve(const Module& at, ValueId x, const Convolution& c) {
  const int64_t in = channels_of(at, x) / c.groups;
  const Initial initial = he(in * c.kernel * c.kernel, c.gain);
  std::vector<ValueId> inputs = {x, at.parameter("weight", {c.channels, in, c.kernel, c.kernel}, initial)};
  if (c.bias) inputs.push_back(at.parameter("bias", {c.channels}, kShift));
  const int64_t pad = c.padded ? c.kernel / 2 : 0;
  return at.op("Conv", std::move(inputs),
               {{"dilations", Ints{1, 1}},
                {"group", c.groups},
                {"kernel_shape", Ints{c.kernel, c.kernel}},
                {"pads", Ints{pad, pad, pad, pad}},
                {"strides", Ints{c.stride, c.stride}}});
}

ValueId convolve_transposed(const Module& at, ValueId x, int64_t channels) {
  const int64_t in = channels_of(at, x);
  return at.op(
      "ConvTranspose",
      {x, at.parameter("weight", {in, channels, 2, 2}, he(in)), at.parameter("bias", {channels}, kShift)},
      {{"dilations", Ints{1, 1}},
       {"group", int64_t{1}},
       {"kernel_shape", Ints{2, 2}},
       {"pads", Ints{0, 0, 0, 0}},
       {"strides", Ints{2, 2}}});
}

ValueId batch_norm(const Module& at, ValueId x, Initial scale) {
  const Shape shape = {channels_of(at, x)};
  return at.op("BatchNormalization",
               {x, at.parameter("weight", shape, scale), at.parameter("bias", shape, kShift),
                at.buffer("running_mean", shape, kShift), at.buffer("running_var", shape, kScale, true)},
               {{"epsilon", 1e-5f}, {"momentum", 0.9f}});
}

ValueId relu(const Module& at, ValueId x) { return at.op("Relu", {x}); }
ValueId relu6(const Module& at, ValueId x) { return at.op("Clip", {x, at.scalar(0), at.scalar(6)}); }

ValueId max_pool(const Module& at, ValueId x, int64_t kernel, int64_t stride, int64_t padding) {
  return at.op("MaxPool", {x},
               {{"ceil_mode", int64_t{0}},
                {"dilations", Ints{1, 1}},
                {"kernel_shape", Ints{kernel, kernel}},
                {"pads", Ints{padding, padding, padding, padding}},
                {"strides", Ints{stride, stride}}});
}

ValueId classify(const Module& pool, const Module& dense, ValueId x, int64_t classes) {
  const int64_t channels = channels_of(pool, x);
  const ValueId mean = pool.op("GlobalAveragePool", {x});
  const ValueId flat = pool.op("Flatten", {mean}, {{"axis", int64_t{1}}});
  return dense.op("Gemm",
                  {flat, dense.parameter("weight", {classes, channels}, he(channels)),
                   dense.parameter("bias", {classes}, kShift)},
                  {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", int64_t{1}}});
}

}  // namespace hone::model::zoo
