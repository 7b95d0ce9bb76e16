// MobileNetV2: inverted residuals: a 1 x 1 expansion, a depthwise convolution, a linear projection.
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "model/zoo/convolutional.h"
#include "model/zoo/models.h"

namespace hone::model::zoo {
namespace {

struct Stage {
  int64_t expansion, channels, repeats, stride;
};
constexpr std::array<Stage, 7> kStages = {{{1, 16, 1, 1},
                                           {6, 24, 2, 2},
                                           {6, 32, 3, 2},
                                           {6, 64, 4, 2},
                                           {6, 96, 3, 1},
                                           {6, 160, 3, 2},
                                           {6, 320, 1, 1}}};
constexpr int64_t kStem = 32;
constexpr int64_t kLast = 1280;

ValueId conv_bn_relu6(const Module& at, ValueId x, const Convolution& convolution) {
  return relu6(at[2], batch_norm(at[1], convolve(at[0], x, convolution)));
}

ValueId inverted_residual(const Module& at, ValueId x, const Stage& stage, int64_t stride) {
  const int64_t in = channels_of(at, x);
  const int64_t hidden = in * stage.expansion;
  const bool residual = stride == 1 && in == stage.channels;
  const Module conv = at["conv"];
  int64_t next = 0;
  ValueId y = x;
  if (stage.expansion != 1) y = conv_bn_relu6(conv[next++], y, {.channels = hidden, .kernel = 1, .gain = 1});
  y = conv_bn_relu6(conv[next++], y, {.channels = hidden, .stride = stride, .groups = hidden});
  y = convolve(conv[next++], y, {.channels = stage.channels, .kernel = 1});
  y = batch_norm(conv[next], y, residual ? kResidualScale : kScale);
  return residual ? at.op("Add", {x, y}) : y;
}

}  // namespace

Result<Built> build_mobilenet_v2(const Common& common, const MobilenetSizes& sizes) {
  if (sizes.size <= 0)
    return invalid(fmt::format("mobilenet_v2: an image of {0} x {0} pixels is too small", sizes.size));
  Network network("mobilenet_v2", common.seed);
  const Module root = network.root();
  const Module features = root["features"];
  ValueId x = network.input("input", DType::kF32, {common.batch_dim(), 3, sizes.size, sizes.size});

  int64_t next = 0;
  x = conv_bn_relu6(features[next++], x, {.channels = kStem, .stride = 2});
  for (std::size_t i = 0; i < std::min(sizes.stages, kStages.size()); ++i) {
    for (int64_t repeat = 0; repeat < kStages[i].repeats; ++repeat)
      x = inverted_residual(features[next++], x, kStages[i], repeat == 0 ? kStages[i].stride : 1);
  }
  x = conv_bn_relu6(features[next], x, {.channels = kLast, .kernel = 1, .gain = 1});
  x = classify(root["avgpool"], root["classifier"][1], x, sizes.classes);
  network.output(x, "output", {common.batch_dim(), sizes.classes});
  return std::move(network).finish();
}

}  // namespace hone::model::zoo
