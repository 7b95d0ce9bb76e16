// ResNet: stages of bottleneck blocks with residual sums.
#include <fmt/core.h>

#include "model/zoo/convolutional.h"
#include "model/zoo/models.h"

namespace hone::model::zoo {
namespace {

constexpr int64_t kExpansion = 4;  // a block's output has this many times its inner channels

ValueId bottleneck(const Module& at, ValueId x, int64_t channels, int64_t stride) {
  const int64_t wide = channels * kExpansion;
  ValueId y = convolve(at["conv1"], x, {.channels = channels, .kernel = 1});
  y = relu(at["relu"], batch_norm(at["bn1"], y));
  y = convolve(at["conv2"], y, {.channels = channels, .stride = stride});
  y = relu(at["relu"], batch_norm(at["bn2"], y));
  y = batch_norm(at["bn3"], convolve(at["conv3"], y, {.channels = wide, .kernel = 1}), kResidualScale);
  if (stride != 1 || channels_of(at, x) != wide) {
    const Module shortcut = at["downsample"];
    x = batch_norm(shortcut[1], convolve(shortcut[0], x, {.channels = wide, .kernel = 1, .stride = stride}));
  }
  return relu(at["relu"], at.op("Add", {y, x}));
}

}  // namespace

Result<Built> build_resnet(const Common& common, const ResnetSizes& sizes) {
  if (sizes.size <= 0)
    return invalid(fmt::format("resnet: an image of {0} x {0} pixels is too small", sizes.size));
  Network network("resnet", common.seed);
  const Module root = network.root();
  const ValueId image = network.input("input", DType::kF32, {common.batch_dim(), 3, sizes.size, sizes.size});

  ValueId x = convolve(root["conv1"], image, {.channels = sizes.base, .kernel = 7, .stride = 2});
  x = relu(root["relu"], batch_norm(root["bn1"], x));
  x = max_pool(root["maxpool"], x, 3, 2, 1);
  for (std::size_t stage = 0; stage < sizes.blocks.size(); ++stage) {
    const Module layer = root[fmt::format("layer{}", stage + 1)];
    for (int64_t block = 0; block < sizes.blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = bottleneck(layer[block], x, sizes.base << stage, stride);
    }
  }
  x = classify(root["avgpool"], root["fc"], x, sizes.classes);
  network.output(x, "output", {common.batch_dim(), sizes.classes});
  return std::move(network).finish();
}

}  // namespace hone::model::zoo
