// Gradients of convolution and normalization, and of networks made of several operators.
#include "tests/gradients/check_gradient.h"
#include <gtest/gtest.h>

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using Values = std::vector<ValueId>;

void check_conv(const std::vector<Shape>& shapes, const Attributes& attributes) {
  check_gradient(shapes, [&](GraphBuilder& b, const Values& x) { return b.add("Conv", x, attributes); },
                 {.needs_extents = true});
}

TEST(ConvGradient, OfPlainWindows) {
  check_conv({{2, 3, 5, 4}, {2, 3, 3, 2}, {2}}, {});
  check_conv({{1, 2, 7}, {3, 2, 3}}, {{"pads", Ints{1, 2}}});
  check_conv({{1, 1, 3, 4, 3}, {2, 1, 2, 2, 2}, {2}}, {{"pads", Ints{0, 1, 0, 1, 0, 1}}});
  check_conv({{3, 2, 4, 4}, {5, 2, 1, 1}}, {});
}

TEST(ConvGradient, OfStridesThatLeaveRowsUnread) {
  for (const int64_t extent : {5, 6, 7, 8})
    for (const int64_t stride : {2, 3})
      check_conv({{1, 2, extent}, {2, 2, 3}, {2}}, {{"strides", Ints{stride}}, {"pads", Ints{1, 0}}});
}

TEST(ConvGradient, OfDilatedAndGroupedWindows) {
  check_conv({{1, 2, 9, 8}, {3, 2, 2, 3}}, {{"dilations", Ints{2, 1}}, {"strides", Ints{2, 3}}});
  check_conv({{2, 6, 5}, {4, 3, 3}, {4}}, {{"group", int64_t{2}}, {"pads", Ints{1, 1}}});
  check_conv({{2, 3, 5, 5}, {3, 1, 3, 3}}, {{"group", int64_t{3}}, {"strides", Ints{2, 2}}});
}

TEST(ConvGradient, OfAutomaticPads) {
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"})
    check_conv({{1, 2, 6, 5}, {2, 2, 2, 3}}, {{"auto_pad", mode}, {"strides", Ints{2, 2}}});
}

TEST(LayerNormalizationGradient, OverTheLastAxes) {
  const auto norm = [](const Attributes& attributes) {
    return [=](GraphBuilder& b, const Values& x) { return b.add("LayerNormalization", x, attributes); };
  };
  check_gradient({{3, 5}, {5}, {5}}, norm({}));
  check_gradient({{2, 3, 4}, {3, 4}}, norm({{"axis", int64_t{1}}, {"epsilon", 0.1f}}));
}

TEST(NetworkGradient, SumsWhatFlowsBackOverSeveralPaths) {
  const Build mixed = [](GraphBuilder& b, const Values& x) {
    const ValueId h = b.add("Tanh", {b.add("MatMul", {x[0], x[1]})});
    const ValueId gate = b.add("Sigmoid", {h});
    const ValueId skip = b.add("Add", {b.add("Mul", {h, gate}), h});
    return b.add("Softmax", {b.add("Sub", {skip, b.add("ReduceMean", {h})})});
  };
  check_gradient({{3, 4}, {4, 5}}, mixed);
}

}  // namespace
}  // namespace hone::gradients
