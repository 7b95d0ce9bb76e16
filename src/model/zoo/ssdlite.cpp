// SSDLite (Sandler et al. 2018, section 6.2): boxes and classes predicted at six scales of MobileNetV2 by
// separable convolutions, decoded against fixed anchors (Liu et al. 2016), and thinned out by
// NonMaxSuppression. How many boxes come out depends on the picture: everything behind the suppression has
// extents known only when it runs.
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "model/zoo/mobilenet.h"
#include "model/zoo/models.h"

namespace hone::model::zoo {
namespace {

// Beyond the backbone's two maps, each half the extent of the one before: channels in between, channels.
constexpr std::array<std::array<int64_t, 2>, 4> kExtra = {{{256, 512}, {128, 256}, {128, 256}, {64, 128}}};
constexpr std::array<float, 3> kFirstRatios = {1.0F, 2.0F, 0.5F};
constexpr std::array<float, 6> kRatios = {1.0F, 2.0F, 0.5F, 3.0F, 1.0F / 3.0F, 1.0F};
constexpr float kSmallest = 0.2F, kLargest = 0.95F;  // sides of the anchors, of the picture's
constexpr float kCentreVariance = 0.1F, kSizeVariance = 0.2F;
// Most anchors see background: a class begins at a probability of 1 % (Lin et al. 2017, section 3.3).
constexpr Initial kRare{-4.6F, 1.0F};
constexpr int64_t kMostBoxesAClass = 100;
constexpr float kOverlap = 0.6F, kScore = 0.3F;

struct Predictions {
  std::vector<ValueId> boxes, scores;  // of each map: [N, places * anchors, 4] and [.., classes]
};

// A separable convolution to `of` numbers for each of the map's anchors, those of one place side by side.
ValueId predict(const Module& at, ValueId map, std::size_t anchors, int64_t of, Initial bias) {
  const int64_t channels = channels_of(at, map);
  const int64_t outputs = static_cast<int64_t>(anchors) * of;
  ValueId y = conv_bn_relu6(at[0], map, {.channels = channels, .groups = channels});
  y = convolve(at[1], y, {.channels = outputs, .kernel = 1, .gain = 1});
  y = at.op("Add", {y, at.parameter("bias", {outputs, 1, 1}, bias)});
  y = at.op("Transpose", {y}, {{"perm", Ints{0, 2, 3, 1}}});
  return at.reshape(y, {Module::Extent{y, 0}, -1, of});
}

std::span<const float> ratios_of(std::size_t map) {
  return map == 0 ? std::span<const float>(kFirstRatios) : std::span<const float>(kRatios);
}

// Centre x, centre y, width, height of each anchor, in shares of the picture: [places * anchors, 4].
void append_anchors(std::vector<float>& all, std::size_t map, std::size_t maps, int64_t side) {
  const auto scale = [&](std::size_t i) {
    return kSmallest + (kLargest - kSmallest) * static_cast<float>(i) / static_cast<float>(maps - 1);
  };
  const std::span<const float> ratios = ratios_of(map);
  for (int64_t place = 0; place < side * side; ++place) {
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      const bool between = i + 1 == kRatios.size();  // a second square, between this scale and the next
      const float size = between ? std::sqrt(scale(map) * scale(map + 1)) : scale(map);
      const auto share = [&](int64_t at) {
        return (static_cast<float>(at) + 0.5F) / static_cast<float>(side);
      };
      all.insert(all.end(), {share(place % side), share(place / side), size * std::sqrt(ratios[i]),
                             size / std::sqrt(ratios[i])});
    }
  }
}

Tensor matrix(const std::vector<float>& values, int64_t columns) {
  Tensor tensor(DType::kF32, {static_cast<int64_t>(values.size()) / columns, columns});
  std::copy(values.begin(), values.end(), tensor.as<float>().begin());
  return tensor;
}

// Corners (y1, x1, y2, x2) of boxes that were predicted relative to their anchors: [N, all anchors, 4].
ValueId decode(const Module& at, ValueId predicted, const std::vector<float>& anchors) {
  std::vector<float> centres, sizes;
  for (std::size_t i = 0; i < anchors.size(); i += 4) {
    centres.insert(centres.end(), {anchors[i + 1], anchors[i]});
    sizes.insert(sizes.end(), {anchors[i + 3], anchors[i + 2]});
  }
  const std::vector<ValueId> parts = at.ops("Split", {predicted, at.ints({2, 2})}, 2, {{"axis", int64_t{2}}});
  const ValueId anchor_sizes = at.constant(matrix(sizes, 2));
  const ValueId moved = at.op("Mul", {at.op("Mul", {parts[0], at.scalar(kCentreVariance)}), anchor_sizes});
  const ValueId centre = at.op("Add", {moved, at.constant(matrix(centres, 2))});
  const ValueId size =
      at.op("Mul", {at.op("Exp", {at.op("Mul", {parts[1], at.scalar(kSizeVariance)})}), anchor_sizes});
  const ValueId half = at.op("Mul", {size, at.scalar(0.5F)});
  return at.op("Concat", {at.op("Sub", {centre, half}), at.op("Add", {centre, half})},
               {{"axis", int64_t{2}}});
}

}  // namespace

Result<Built> build_ssdlite(const Common& common, const SsdliteSizes& sizes) {
  if (sizes.size < 32)
    return invalid(
        fmt::format("ssdlite: an image of {0} x {0} pixels is too small; give 32 or more", sizes.size));
  Network network("ssdlite", common.seed);
  const Module root = network.root();
  const ValueId input = network.input("input", DType::kF32, {common.batch_dim(), 3, sizes.size, sizes.size});

  const MobilenetFeatures features = mobilenet_features(root["backbone"]["features"], input, sizes.stages);
  std::vector<ValueId> maps = {features.expanded, features.last};
  for (std::size_t i = 0; i < sizes.extra && i < kExtra.size(); ++i) {
    const Module extra = root["backbone"]["extra"][static_cast<int64_t>(i)];
    const ValueId between =
        conv_bn_relu6(extra[0], maps.back(), {.channels = kExtra[i][0], .kernel = 1, .gain = 1});
    const ValueId halved =
        conv_bn_relu6(extra[1], between, {.channels = kExtra[i][0], .stride = 2, .groups = kExtra[i][0]});
    maps.push_back(conv_bn_relu6(extra[2], halved, {.channels = kExtra[i][1], .kernel = 1, .gain = 1}));
  }

  Predictions predictions;
  std::vector<float> anchors;
  const Module head = root["head"];
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const std::size_t each = ratios_of(i).size();
    predictions.boxes.push_back(predict(head["boxes"][at], maps[i], each, 4, kShift));
    predictions.scores.push_back(predict(head["classes"][at], maps[i], each, sizes.classes, kRare));
    append_anchors(anchors, i, maps.size(), (*network.type(maps[i]).dims)[2].extent());
  }
  const Attributes by_anchor{{"axis", int64_t{1}}};
  const ValueId boxes = decode(head, head.op("Concat", predictions.boxes, by_anchor), anchors);
  const ValueId scores =
      head.op("Transpose", {head.op("Sigmoid", {head.op("Concat", predictions.scores, by_anchor)})},
              {{"perm", Ints{0, 2, 1}}});

  // Rows of (picture, class, anchor).
  const Module kept = root["suppress"];
  const ValueId chosen = kept.op("NonMaxSuppression", {boxes, scores, kept.ints({kMostBoxesAClass}),
                                                       kept.scalar(kOverlap), kept.scalar(kScore)});
  const ValueId picture_and_anchor = kept.op("Gather", {chosen, kept.ints({0, 2})}, {{"axis", int64_t{1}}});
  network.output(kept.op("GatherND", {boxes, picture_and_anchor}), "boxes", {graph::Dim(), 4});
  network.output(kept.op("GatherND", {scores, chosen}), "scores", {graph::Dim()});
  network.output(kept.op("Gather", {chosen, kept.index(1)}, {{"axis", int64_t{1}}}), "labels",
                 {graph::Dim()});
  return std::move(network).finish();
}

}  // namespace hone::model::zoo
