// The body of MobileNetV2, which classifiers and detectors share.
#pragma once

#include <cstddef>

#include "model/zoo/convolutional.h"

namespace hone::model::zoo {

ValueId conv_bn_relu6(const Module& at, ValueId x, const Convolution& convolution);

struct MobilenetFeatures {
  ValueId expanded;  // of the last block that halves the extents, before it does: where SSD looks first
  ValueId last;      // 1280 channels
};
// `stages` of 7; `x` is [N, 3, H, W].
MobilenetFeatures mobilenet_features(const Module& at, ValueId x, std::size_t stages);

}  // namespace hone::model::zoo
