// A small convolutional network for pictures of digits: two convolutions that halve the extents, one dense layer.
#include "model/zoo/convolutional.h"
#include "model/zoo/models.h"

namespace hone::model::zoo {

Result<Built> build_digits(const Common& common, const DigitsSizes& sizes) {
  if (sizes.size < 4 || sizes.size % 4 != 0)
    return invalid("digits_cnn: the side of the picture must be a multiple of 4 (it is halved twice)");
  Network network("digits_cnn", common.seed);
  const Module root = network.root();
  ValueId x = network.input("image", DType::kF32, {common.batch_dim(), 1, sizes.size, sizes.size});
  x = relu(root["conv1"], convolve(root["conv1"], x, {.channels = sizes.base, .stride = 2, .bias = true}));
  x = relu(root["conv2"],
           convolve(root["conv2"], x, {.channels = 2 * sizes.base, .stride = 2, .bias = true}));
  const int64_t features = 2 * sizes.base * (sizes.size / 4) * (sizes.size / 4);
  x = root.op("Flatten", {x}, {{"axis", int64_t{1}}});
  const Module dense = root["dense"];
  x = dense.op("Gemm",
               {x, dense.parameter("weight", {sizes.classes, features}, he(features, 1)),
                dense.parameter("bias", {sizes.classes}, kShift)},
               {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", int64_t{1}}});
  network.output(x, "logits", {common.batch_dim(), sizes.classes});
  return std::move(network).finish();
}

}  // namespace hone::model::zoo
