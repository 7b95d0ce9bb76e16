// MobileNetV2: inverted residuals: a 1 x 1 expansion, a depthwise convolution, a linear projection.
#include "model/zoo/mobilenet.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

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

// `expanded` is given the output of the expansion.
ValueId inverted_residual(const Module& at, ValueId x, const Stage& stage, int64_t stride,
                          ValueId& expanded) {
  const int64_t in = channels_of(at, x);
  const int64_t hidden = in * stage.expansion;
  const bool residual = stride == 1 && in == stage.channels;
  const Module conv = at["conv"];
  int64_t next = 0;
  expanded = x;
  if (stage.expansion != 1)
    expanded = conv_bn_relu6(conv[next++], x, {.channels = hidden, .kernel = 1, .gain = 1});
  ValueId y = conv_bn_relu6(conv[next++], expanded, {.channels = hidden, .stride = stride, .groups = hidden});
  y = convolve(conv[next++], y, {.channels = stage.channels, .kernel = 1});
  y = batch_norm(conv[next], y, residual ? kResidualScale : kScale);
  return residual ? at.op("Add", {x, y}) : y;
}

}  // namespace

ValueId conv_bn_relu6(const Module& at, ValueId x, const Convolution& convolution) {
  return relu6(at[2], batch_norm(at[1], convolve(at[0], x, convolution)));
}

MobilenetFeatures mobilenet_features(const Module& at, ValueId x, std::size_t stages) {
  MobilenetFeatures found;
  int64_t next = 0;
  x = conv_bn_relu6(at[next++], x, {.channels = kStem, .stride = 2});
  for (std::size_t i = 0; i < std::min(stages, kStages.size()); ++i) {
    for (int64_t repeat = 0; repeat < kStages[i].repeats; ++repeat) {
      const int64_t stride = repeat == 0 ? kStages[i].stride : 1;
      ValueId expanded;
      x = inverted_residual(at[next++], x, kStages[i], stride, expanded);
      if (stride == 2) found.expanded = expanded;
    }
  }
  found.last = conv_bn_relu6(at[next], x, {.channels = kLast, .kernel = 1, .gain = 1});
  return found;
}

Result<Built> build_mobilenet_v2(const Common& common, const MobilenetSizes& sizes) {
  if (sizes.size <= 0)
    return invalid(fmt::format("mobilenet_v2: an image of {0} x {0} pixels is too small", sizes.size));
  Network network("mobilenet_v2", common.seed);
  const Module root = network.root();
  ValueId x = network.input("input", DType::kF32, {common.batch_dim(), 3, sizes.size, sizes.size});
  x = mobilenet_features(root["features"], x, sizes.stages).last;
  x = classify(root["avgpool"], root["classifier"][1], x, sizes.classes);
  network.output(x, "output", {common.batch_dim(), sizes.classes});
  return std::move(network).finish();
}

}  // namespace hone::model::zoo
