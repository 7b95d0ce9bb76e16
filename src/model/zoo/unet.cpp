// U-Net: a contracting path of double convolutions, an expanding path that joins each level's features.
#include <fmt/core.h>

#include "model/zoo/convolutional.h"
#include "model/zoo/models.h"

namespace hone::model::zoo {
namespace {

ValueId double_convolution(const Module& at, ValueId x, int64_t channels) {
  x = relu(at[2], batch_norm(at[1], convolve(at[0], x, {.channels = channels})));
  return relu(at[5], batch_norm(at[4], convolve(at[3], x, {.channels = channels})));
}

ValueId down(const Module& at, ValueId x, int64_t channels) {
  const Module pool_and_convolve = at["maxpool_conv"];
  return double_convolution(pool_and_convolve["1"]["double_conv"],
                            max_pool(pool_and_convolve["0"], x, 2, 2, 0), channels);
}

ValueId up(const Module& at, ValueId x, ValueId skip, int64_t channels) {
  const ValueId wide = convolve_transposed(at["up"], x, channels);
  const ValueId joined = at.op("Concat", {skip, wide}, {{"axis", int64_t{1}}});
  return double_convolution(at["conv"]["double_conv"], joined, channels);
}

}  // namespace

Result<Built> build_unet(const Common& common, const UnetSizes& sizes) {
  const int64_t multiple = int64_t{1} << sizes.levels;
  if (sizes.size <= 0 || sizes.size % multiple != 0)
    return invalid(fmt::format("unet: a size of {} is not a multiple of {} (it is halved {} times)",
                               sizes.size, multiple, sizes.levels));
  Network network("unet", common.seed);
  const Module root = network.root();
  const ValueId image =
      network.input("image", DType::kF32, {common.batch_dim(), sizes.channels, sizes.size, sizes.size});

  std::vector<ValueId> levels = {double_convolution(root["inc"]["double_conv"], image, sizes.base)};
  for (int64_t level = 1; level <= sizes.levels; ++level)
    levels.push_back(down(root[fmt::format("down{}", level)], levels.back(), sizes.base << level));
  ValueId x = levels.back();
  for (int64_t level = sizes.levels - 1; level >= 0; --level) {
    const std::string name = fmt::format("up{}", sizes.levels - level);
    x = up(root[name], x, levels[static_cast<std::size_t>(level)], sizes.base << level);
  }
  x = convolve(root["outc"]["conv"], x, {.channels = sizes.classes, .kernel = 1, .bias = true});
  network.output(x, "logits", {common.batch_dim(), sizes.classes, sizes.size, sizes.size});
  return std::move(network).finish();
}

}  // namespace hone::model::zoo
